/* T5Tokenizer: the model's ids, then sentinels for masked spans in descending order. MADLAD-400 models
 * contain tokens <2xx>, which select the target language. mT5 declares no extra sentinels. */
#include "text/tokenizers/classes/class.h"

enum { EXTRA_IDS = 100 };

static clf_status behind(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    int count = settings->extra_ids >= 0 ? settings->extra_ids : EXTRA_IDS;
    for (int i = count - 1; i >= 0; i--) {
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL | CLF__TOKEN_FOUND, "<extra_id_%d>", i));
    }
    return CLF_OK;
}

static const struct clf__class_pipeline pipeline = {
    .model = "Unigram",
    .takes_table = 1,
    .with_table = "",
    .without_table = "",
    .pre_tokenizer = CLF__WORDS_AND_METASPACE,
    .decoder = CLF__METASPACE,
    .options = "{\"unk_id\": 2, \"byte_fallback\": false}",
};

const struct clf__tokenizer_class clf__class_t5 = {
    .name = "T5Tokenizer",
    .model = "spiece.model",
    .behind = behind,
    .specials = {"<pad>", "</s>", "<unk>"},
    .joins_plainly = 1,
    .language_opens = "<2",
    .language_closes = ">",
    .finds_languages = 1,
    .place = CLF__LANGUAGE_IN_TEXT,
    .pipeline = &pipeline,
};
