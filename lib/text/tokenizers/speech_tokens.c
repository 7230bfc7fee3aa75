#include "text/tokenizers/speech_tokens.h"

#include <string.h>
#include <strings.h>

enum { TIMES = CLF__SPEECH_TIMES, HUNDREDTHS = 2 };

/* A language code and its English name. */
struct language {
    char code[4];
    const char *name;
};

/* In the order of the models' ids. */
static const struct language known[CLF__SPEECH_LANGUAGES] = {
    {"en", "english"},        {"zh", "chinese"},     {"de", "german"},        {"es", "spanish"},
    {"ru", "russian"},        {"ko", "korean"},      {"fr", "french"},        {"ja", "japanese"},
    {"pt", "portuguese"},     {"tr", "turkish"},     {"pl", "polish"},        {"ca", "catalan"},
    {"nl", "dutch"},          {"ar", "arabic"},      {"sv", "swedish"},       {"it", "italian"},
    {"id", "indonesian"},     {"hi", "hindi"},       {"fi", "finnish"},       {"vi", "vietnamese"},
    {"he", "hebrew"},         {"uk", "ukrainian"},   {"el", "greek"},         {"ms", "malay"},
    {"cs", "czech"},          {"ro", "romanian"},    {"da", "danish"},        {"hu", "hungarian"},
    {"ta", "tamil"},          {"no", "norwegian"},   {"th", "thai"},          {"ur", "urdu"},
    {"hr", "croatian"},       {"bg", "bulgarian"},   {"lt", "lithuanian"},    {"la", "latin"},
    {"mi", "maori"},          {"ml", "malayalam"},   {"cy", "welsh"},         {"sk", "slovak"},
    {"te", "telugu"},         {"fa", "persian"},     {"lv", "latvian"},       {"bn", "bengali"},
    {"sr", "serbian"},        {"az", "azerbaijani"}, {"sl", "slovenian"},     {"kn", "kannada"},
    {"et", "estonian"},       {"mk", "macedonian"},  {"br", "breton"},        {"eu", "basque"},
    {"is", "icelandic"},      {"hy", "armenian"},    {"ne", "nepali"},        {"mn", "mongolian"},
    {"bs", "bosnian"},        {"kk", "kazakh"},      {"sq", "albanian"},      {"sw", "swahili"},
    {"gl", "galician"},       {"mr", "marathi"},     {"pa", "punjabi"},       {"si", "sinhala"},
    {"km", "khmer"},          {"sn", "shona"},       {"yo", "yoruba"},        {"so", "somali"},
    {"af", "afrikaans"},      {"oc", "occitan"},     {"ka", "georgian"},      {"be", "belarusian"},
    {"tg", "tajik"},          {"sd", "sindhi"},      {"gu", "gujarati"},      {"am", "amharic"},
    {"yi", "yiddish"},        {"lo", "lao"},         {"uz", "uzbek"},         {"fo", "faroese"},
    {"ht", "haitian creole"}, {"ps", "pashto"},      {"tk", "turkmen"},       {"nn", "nynorsk"},
    {"mt", "maltese"},        {"sa", "sanskrit"},    {"lb", "luxembourgish"}, {"my", "myanmar"},
    {"bo", "tibetan"},        {"tl", "tagalog"},     {"mg", "malagasy"},      {"as", "assamese"},
    {"tt", "tatar"},          {"haw", "hawaiian"},   {"ln", "lingala"},       {"ha", "hausa"},
    {"ba", "bashkir"},        {"jw", "javanese"},    {"su", "sundanese"},     {"yue", "cantonese"}};

/* Other names of languages. */
static const struct language others[] = {{"my", "burmese"},   {"ca", "valencian"},     {"nl", "flemish"},
                                         {"ht", "haitian"},   {"lb", "letzeburgesch"}, {"ps", "pushto"},
                                         {"pa", "panjabi"},   {"ro", "moldavian"},     {"ro", "moldovan"},
                                         {"si", "sinhalese"}, {"es", "castilian"},     {"zh", "mandarin"}};

static const char *const before[] = {"<|endoftext|>", "<|startoftranscript|>"};
static const char *const behind[] = {"<|translate|>",   "<|transcribe|>", "<|startoflm|>",
                                     "<|startofprev|>", "<|nospeech|>",   "<|notimestamps|>"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Finds a code in a list by code or name, in any letter case; NULL: unknown. */
static const char *find_code(const struct language *list, size_t count, const char *language)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(list[i].code, language) == 0 || strcasecmp(list[i].name, language) == 0) {
            return list[i].code;
        }
    }
    return NULL;
}

const char *clf__speech_code(const char *language)
{
    const char *code = find_code(known, COUNT(known), language);
    return code != NULL ? code : find_code(others, COUNT(others), language);
}

const char *clf__speech_name(const char *code)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(known[i].code, code) == 0) {
            return known[i].name;
        }
    }
    return NULL;
}

int clf__speech_room(int first, int rows)
{
    return rows - first - (int)(COUNT(before) + COUNT(behind)) - TIMES;
}

static clf_status add_list(struct clf__token_list *tokens, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLF__TRY(clf__token_list_add(tokens, list[i], strlen(list[i]), CLF__TOKEN_SPECIAL));
    }
    return CLF_OK;
}

static clf_status add_times(struct clf__token_list *tokens, int count)
{
    for (int i = 0; i < count; i++) {
        int time = i * HUNDREDTHS;
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL, "<|%d.%02d|>", time / 100, time % 100));
    }
    return CLF_OK;
}

clf_status clf__speech_specials(struct clf__token_list *tokens, int languages)
{
    CLF__TRY(add_list(tokens, before, COUNT(before)));
    for (int i = 0; i < languages; i++) {
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL, "<|%s|>", known[i].code));
    }
    CLF__TRY(add_list(tokens, behind, COUNT(behind)));
    return add_times(tokens, TIMES);
}

clf_status clf__speech_name_times(struct clf__token_list *tokens)
{
    int last = tokens->count - 1;
    while (last >= 0 && (tokens->marks[last] & CLF__TOKEN_SPARE) != 0) {
        last--;
    }
    const char *token = clf__token_list_at(tokens, last), *no_times = behind[COUNT(behind) - 1];
    int rows = tokens->count, room = rows - last - 1;
    if (token == NULL || strcmp(token, no_times) != 0) {
        return CLF_OK;
    }
    clf__token_list_truncate(tokens, last + 1);
    CLF__TRY(add_times(tokens, room < TIMES ? room : TIMES));
    while (tokens->count < rows) {
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL | CLF__TOKEN_SPARE, "<unused_%d>",
                                        tokens->count));
    }
    return CLF_OK;
}
