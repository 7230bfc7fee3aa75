/* Moses words with subword-nmt byte-pair encoding: Argos Translate packages with bpe.model (BPETokenizer of
 * argostranslate 1.11). Two deliberate differences: the literal "DOTMULTI." is not an ellipsis, unlike
 * sacremoses before 0.2; a Czech word with a dash, where sacremoses fails, is joined as in Moses. */
#include "text/segmenters/segmenter.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/moses/cutter.h"
#include "text/moses/joiner.h"
#include "text/segmenters/pairs.h"

struct state {
    const struct clf__moses_language *language;
    struct clf__moses_cutter cutter;
    struct clf__pairs pairs;
};

static void moses_free(void *state)
{
    struct state *side = state;
    clf__moses_cutter_close(&side->cutter);
    clf__pairs_free(&side->pairs);
    clf__free(side);
}

/* A target is segmented only for scoring or a prefix, which Argos Translate never does, so missing lists are
 * not reported. */
static clf_status open_side(struct state *side, const struct clf__segmenter_folder *folder, int target)
{
    char *path = NULL;
    const char *code = target ? folder->target_language : folder->source_language;
    CLF__TRY(clf__path_join(&path, folder->path, folder->model));
    clf_status status = clf__pairs_read(&side->pairs, path, CLF__PAIRS_SUBWORD_NMT);
    clf__free(path);
    CLF__TRY(status);
    side->language = clf__moses_language(code);
    return clf__moses_cutter_open(&side->cutter, code, folder->path, !target);
}

static clf_status moses_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    struct state *side = NULL;
    CLF__TRY(clf__allocate(&side, 1, sizeof *side));
    clf_status status = open_side(side, folder, target);
    if (status != CLF_OK) {
        moses_free(side);
        return status;
    }
    *state = side;
    return CLF_OK;
}

static clf_status cut_words(const struct state *side, const struct clf__moses_text *text,
                            struct clf__pairs_work *pairs, clf__token_function *function, void *user)
{
    for (size_t at = 0, size; at < text->size; at += size + 1) {
        const char *space = memchr(text->bytes + at, ' ', text->size - at);
        size = space != NULL ? (size_t)(space - text->bytes) - at : text->size - at;
        CLF__TRY(clf__pairs_cut(&side->pairs, pairs, text->bytes + at, size, function, user));
    }
    return CLF_OK;
}

static clf_status moses_segment(const void *state, const char *text, size_t size,
                                clf__token_function *function, void *user)
{
    const struct state *side = state;
    struct clf__moses_work work;
    struct clf__pairs_work pairs = {.room = 0};
    CLF__TRY(clf__moses_work_begin(&work, text, size));
    clf_status status = clf__moses_cut(&side->cutter, &work);
    if (status == CLF_OK) {
        status = cut_words(side, &work.text, &pairs, function, user);
    }
    clf__moses_work_end(&work);
    clf__pairs_work_free(&pairs);
    return status;
}

static clf_status moses_join(const void *state, char **text, const char *const *tokens, int count)
{
    const struct state *side = state;
    char *words;
    CLF__TRY(clf__pairs_join(&words, tokens, count));
    clf_status status = clf__moses_join(text, words, side->language, &side->cutter.sets);
    clf__free(words);
    return status;
}

const struct clf__segmenter clf__segmenter_moses = {
    .name = "Moses words and subwords",
    .has_model = 1,
    .open = moses_open,
    .free = moses_free,
    .segment = moses_segment,
    .join = moses_join,
};
