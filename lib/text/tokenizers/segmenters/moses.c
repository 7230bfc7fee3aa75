/* Byte-pair encoding of words from the Moses tokenizer: bpe.model of Argos Translate (1.11), and
 * FSMTTokenizer. Unlike in sacremoses, the literal "DOTMULTI." is not an ellipsis, and Czech words with a
 * dash, where sacremoses fails, are joined as in Moses. */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include <unicode/ucasemap.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/moses/cutter.h"
#include "text/tokenizers/moses/joiner.h"
#include "text/tokenizers/segmenters/pairs.h"

struct state {
    const struct clf__moses_language *language;
    struct clf__moses_cutter cutter;
    struct clf__pairs pairs;
    UCaseMap *case_map; /* maps text to lower case; NULL: keeps the case */
    int cleans_up;      /* removes spaces before punctuation from joined text */
};

static void moses_free(void *state)
{
    struct state *side = state;
    clf__moses_cutter_close(&side->cutter);
    clf__pairs_free(&side->pairs);
    ucasemap_close(side->case_map);
    clf__free(side);
}

/* Only the source side reports missing lists. Targets are segmented only for scoring and prefixes, which the
 * Python packages do not support. */
static clf_status open_side(struct state *side, const struct clf__segmenter_folder *folder, int target,
                            enum clf__pairs_kind kind)
{
    char *path = NULL;
    const char *code = target ? folder->target_language : folder->source_language;
    CLF__TRY(clf__path_join(&path, folder->path, folder->model));
    clf_status status = clf__pairs_read(&side->pairs, path, kind);
    clf__free(path);
    CLF__TRY(status);
    side->language = clf__moses_language(code);
    return clf__moses_cutter_open(&side->cutter, code, kind == CLF__PAIRS_FASTBPE ? CLF__MOSES_AS_FSMT : 0,
                                  folder->path, !target);
}

static clf_status open_kind(void **state, const struct clf__segmenter_folder *folder, int target,
                            enum clf__pairs_kind kind)
{
    struct state *side = NULL;
    CLF__TRY(clf__allocate(&side, 1, sizeof *side));
    clf_status status = open_side(side, folder, target, kind);
    if (status != CLF_OK) {
        moses_free(side);
        return status;
    }
    *state = side;
    return CLF_OK;
}

static clf_status moses_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    return open_kind(state, folder, target, CLF__PAIRS_SUBWORD_NMT);
}

static clf_status fsmt_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    UErrorCode error = U_ZERO_ERROR;
    if (folder->source_language == NULL || folder->target_language == NULL) {
        return clf__fail(CLF_FORMAT,
                         "%s/tokenizer_config.json: \"langs\" is not a list of two language codes; download "
                         "the file again, or add it, for example \"langs\": [\"en\", \"de\"]",
                         folder->path);
    }
    CLF__TRY(open_kind(state, folder, target, CLF__PAIRS_FASTBPE));
    struct state *side = *state;
    side->cleans_up = folder->cleans_up;
    side->case_map =
        folder->lowers_case ? ucasemap_open("", 0, &error) : NULL; /* independent of the locale */
    if (U_FAILURE(error)) {
        moses_free(side);
        *state = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for ICU");
    }
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

static clf_status cut(const struct state *side, const char *text, size_t size, clf__token_function *function,
                      void *user)
{
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

static clf_status moses_segment(const void *state, const char *text, size_t size,
                                clf__token_function *function, void *user)
{
    enum { GROWTH = 3 }; /* maximum growth of a text when converted to lower case */
    const struct state *side = state;
    char *lower = NULL;
    UErrorCode error = U_ZERO_ERROR;
    if (side->case_map == NULL) {
        return cut(side, text, size, function, user);
    }
    if (size > INT32_MAX / GROWTH - 1) {
        return clf__fail(CLF_TEXT, "a line of %zu bytes is too long", size);
    }
    int32_t room = (int32_t)size * GROWTH + 1;
    CLF__TRY(clf__allocate(&lower, (size_t)room, 1));
    int32_t length = ucasemap_utf8ToLower(side->case_map, lower, room, text, (int32_t)size, &error);
    clf_status status = U_SUCCESS(error) ? cut(side, lower, (size_t)length, function, user)
                                         : clf__fail(CLF_TEXT, "a line cannot be converted to lower case");
    clf__free(lower);
    return status;
}

static clf_status moses_join(const void *state, char **text, const char *const *tokens, int count)
{
    const struct state *side = state;
    char *words;
    CLF__TRY(clf__pairs_join(&side->pairs, &words, tokens, count));
    clf_status status = clf__moses_join(text, words, side->language, &side->cutter.sets);
    clf__free(words);
    if (status == CLF_OK && side->cleans_up) {
        clf__text_clean_up(*text);
    }
    return status;
}

#define WORDS_OF_MOSES(open_function)                                                                        \
    {                                                                                                        \
        .name = "Moses words and subwords", .has_model = 1, .open = (open_function), .free = moses_free,     \
        .segment = moses_segment, .join = moses_join,                                                        \
    }

const struct clf__segmenter clf__segmenter_moses = WORDS_OF_MOSES(moses_open);
const struct clf__segmenter clf__segmenter_fsmt = WORDS_OF_MOSES(fsmt_open);
