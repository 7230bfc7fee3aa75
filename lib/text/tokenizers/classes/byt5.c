/* ByT5Tokenizer has no file: three special tokens, 256 bytes, then the sentinels in ascending order. */
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/segmenters/segmenter.h"

enum { EXTRA_IDS = 125 };

static const char *const first[] = {"<pad>", "</s>", "<unk>"};

static clf_status before(struct clf__token_list *tokens)
{
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        CLF__TRY(clf__token_list_format(tokens, 0, "%s", first[i]));
    }
    return CLF_OK;
}

static clf_status behind(struct clf__token_list *tokens, const struct clf__class_settings *settings)
{
    int count = settings->extra_ids >= 0 ? settings->extra_ids : EXTRA_IDS;
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__token_list_format(tokens, CLF__TOKEN_SPECIAL | CLF__TOKEN_FOUND, "<extra_id_%d>", i));
    }
    return CLF_OK;
}

const struct clf__tokenizer_class clf__class_byt5 = {
    .name = "ByT5Tokenizer",
    .segmenter = &clf__segmenter_bytes,
    .before = before,
    .behind = behind,
    .specials = {"<pad>", "</s>", "<unk>"},
    .never_cleans_up = 1,
};
