/* PegasusTokenizer: 105 special and filler tokens, two of which replace the model's first two tokens. */
#include "text/tokenizers/classes/class.h"

static clf_status before(struct clf__token_list *tokens)
{
    enum { FIRST_UNKNOWN = 2, LAST_UNKNOWN = 102, MARKS = CLF__TOKEN_SPECIAL | CLF__TOKEN_FOUND };
    static const char *const named[] = {"<pad>", "</s>", "<mask_1>", "<mask_2>"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        CLF__TRY(clf__token_list_format(tokens, MARKS, "%s", named[i]));
    }
    for (int i = FIRST_UNKNOWN; i <= LAST_UNKNOWN; i++) {
        CLF__TRY(clf__token_list_format(tokens, MARKS | CLF__TOKEN_FILLER, "<unk_%d>", i));
    }
    return CLF_OK;
}

static const struct clf__class_pipeline pipeline = {
    .model = "Unigram",
    .takes_table = 1,
    .with_table = CLF__ONE_SPACE,
    .without_table = CLF__NO_LINES CLF__ONE_SPACE,
    .pre_tokenizer = CLF__METASPACE,
    .decoder = CLF__METASPACE,
    .options = "{\"byte_fallback\": false}",
    .finds_unknown = 1,
};

const struct clf__tokenizer_class clf__class_pegasus = {
    .name = "PegasusTokenizer",
    .model = "spiece.model",
    .skipped = 2,
    .before = before,
    .specials = {"<unk>"},
    .joins_plainly = 1,
    .pipeline = &pipeline,
};
