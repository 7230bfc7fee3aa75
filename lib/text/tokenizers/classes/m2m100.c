/* M2M100Tokenizer: the ids of vocab.json, then languages, then fairseq's filler words. */
#include <string.h>

#include "text/tokenizers/classes/class.h"

static const char *const codes[] = {
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu", NULL};
/* Codes for "language_codes": "wmt21", the WMT 2021 models. */
static const char *const wmt21_codes[] = {"en", "ha", "is", "ja", "cs", "ru", "zh", "de", NULL};

static clf_status behind(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    const char *list = settings->language_codes;
    int is_wmt21 = list != NULL && strcmp(list, "wmt21") == 0;
    if (list != NULL && !is_wmt21 && strcmp(list, "m2m100") != 0) {
        return clf__fail(CLF_UNSUPPORTED,
                         "tokenizer_config.json: \"language_codes\" is \"%.40s\"; set it to m2m100 or wmt21",
                         list);
    }
    return clf__class_add_languages(tokens, &clf__class_m2m100, is_wmt21 ? wmt21_codes : codes);
}

const struct clf__tokenizer_class clf__class_m2m100 = {
    .name = "M2M100Tokenizer",
    .model = "sentencepiece.bpe.model",
    .has_vocabulary = 1,
    .behind = behind,
    .specials = {"<s>", "<pad>", "</s>", "<unk>"},
    .language_opens = "__",
    .language_closes = "__",
    .place = CLF__LANGUAGE_IN_FRONT,
    .source_language = "en",
};
