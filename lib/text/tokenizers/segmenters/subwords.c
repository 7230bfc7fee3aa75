/* BPE of BlenderbotSmallTokenizer: lower-case words with punctuation split off; the last character of a word
 * ends with </w>, and a subword inside a word is written with a trailing @@. */
#include "text/tokenizers/segmenters/segmenter.h"

#include <string.h>

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/segmenters/pairs.h"

static const char line_end[] = "__newln__";

struct state {
    struct clf__pairs pairs;
    UCaseMap *case_map;
};

static void subwords_free(void *state)
{
    struct state *side = state;
    clf__pairs_free(&side->pairs);
    ucasemap_close(side->case_map);
    clf__free(side);
}

static clf_status subwords_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    (void)target;
    struct state *side = NULL;
    char *path = NULL;
    UErrorCode error = U_ZERO_ERROR;
    CLF__TRY(clf__path_join(&path, folder->path, folder->model));
    clf_status status = clf__allocate(&side, 1, sizeof *side);
    if (status == CLF_OK) {
        side->case_map = ucasemap_open("", 0, &error); /* independent of the locale */
        status = U_SUCCESS(error) ? clf__pairs_read(&side->pairs, path, CLF__PAIRS_TRANSFORMERS)
                                  : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for ICU");
    }
    clf__free(path);
    if (status != CLF_OK && side != NULL) {
        subwords_free(side);
        return status;
    }
    *state = side;
    return status;
}

/* --- Segmentation --- */

struct cutting {
    const struct state *side;
    struct clf__pairs_work work;
    char *lower; /* the word, in lower case */
    size_t room;
    clf__token_function *function;
    void *user;
};

static clf_status cut_word(struct cutting *cutting, const char *word, size_t length)
{
    UErrorCode error = U_ZERO_ERROR;
    if (length > INT32_MAX / 8) {
        return clf__fail(CLF_TEXT, "a word of %zu bytes is too long", length);
    }
    size_t needed = 4 * length + 1;
    if (needed > cutting->room) {
        CLF__TRY(clf__resize(&cutting->lower, needed, 1));
        cutting->room = needed;
    }
    int32_t size = ucasemap_utf8ToLower(cutting->side->case_map, cutting->lower, (int32_t)needed, word,
                                        (int32_t)length, &error);
    return U_SUCCESS(error) ? clf__pairs_cut(&cutting->side->pairs, &cutting->work, cutting->lower,
                                             (size_t)size, cutting->function, cutting->user)
                            : clf__fail(CLF_TEXT, "a word cannot be converted to lower case");
}

/* Splits text without white space: a word begins at each of .,!?(), and ' is a word. */
static clf_status cut_run(struct cutting *cutting, const char *text, size_t size)
{
    for (size_t start = 0; start < size;) {
        size_t end = start + 1;
        while (text[start] != '\'' && end < size && strchr(".,!?()'", text[end]) == NULL) {
            end++;
        }
        CLF__TRY(cut_word(cutting, text + start, end - start));
        start = end;
    }
    return CLF_OK;
}

static int is_space(const char *text, size_t size, size_t at, size_t *next)
{
    UChar32 character;
    *next = at;
    U8_NEXT((const uint8_t *)text, *next, size, character);
    return character == 0 || u_isUWhiteSpace(character);
}

static clf_status cut_all(struct cutting *cutting, const char *text, size_t size)
{
    for (size_t at = 0, next; at < size; at = next) {
        size_t end = at;
        if (is_space(text, size, at, &next)) {
            continue;
        }
        while (end < size && !is_space(text, size, end, &next)) {
            end = next;
        }
        CLF__TRY(cut_run(cutting, text + at, end - at));
        /* A line ending directly after the run is a word, except after ', which leaves a space. */
        if (end < size && text[end] == '\n' && text[end - 1] != '\'') {
            CLF__TRY(cut_word(cutting, line_end, strlen(line_end)));
        }
        next = end;
    }
    return CLF_OK;
}

static clf_status subwords_segment(const void *state, const char *text, size_t size,
                                   clf__token_function *function, void *user)
{
    struct cutting cutting = {.side = state, .function = function, .user = user};
    clf_status status = cut_all(&cutting, text, size);
    clf__pairs_work_free(&cutting.work);
    clf__free(cutting.lower);
    return status;
}

/* --- Joining --- */

static clf_status subwords_join(const void *state, char **text, const char *const *tokens, int count)
{
    const struct state *side = state;
    CLF__TRY(clf__pairs_join(&side->pairs, text, tokens, count));
    size_t space;
    char *start = *text;
    while (*start != '\0' && (space = clf__text_space(start)) > 0) {
        start += space;
    }
    memmove(*text, start, strlen(start) + 1);
    clf__text_strip_end(*text);
    return CLF_OK;
}

const struct clf__segmenter clf__segmenter_subwords = {
    .name = "subwords",
    .has_model = 1,
    .open = subwords_open,
    .free = subwords_free,
    .segment = subwords_segment,
    .join = subwords_join,
};
