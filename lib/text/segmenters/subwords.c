/* Pairs of characters that become one (Sennrich et al. 2016, section 3.2), as the small Blenderbot's
 * tokenizer has them: words in lower case, with punctuation before its word or apart, whose last character
 * ends with
 * </w>; a piece that does not end its word is written with @@ behind it. */
#include "text/segmenters/segmenter.h"

#include <string.h>

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/clean_up.h"
#include "text/pieces.h"
#include "text/segmenters/merges.h"
#include "text/vocabulary.h"

enum { MAX_FILE_BYTES = 1 << 28, MOST_PIECE = 1 << 16 };
static const char word_end[] = "</w>", joint[] = "@@", line_end[] = "__newln__";

struct state {
    struct clf__vocabulary symbols; /* of all pairs, and what they become */
    struct clf__merges merges;
    UCaseMap *case_map;
};

static void subwords_free(void *state)
{
    struct state *side = state;
    clf__vocabulary_free(&side->symbols);
    clf__merges_free(&side->merges);
    ucasemap_close(side->case_map);
    clf__free(side);
}

/* --- merges.txt. --- */

struct line {
    const char *left, *right;
    size_t left_size, right_size;
};

static clf_status damaged(const char *path, size_t number, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: line %zu %s; download it again", path, number, what);
}

/* Calls `take` with every pair. The first line is a version, and what no end of a line follows is nothing, as
 * transformers reads it. */
static clf_status each_pair(const char *text, const char *path,
                            clf_status (*take)(void *user, const struct line *line, int rank), void *user)
{
    int rank = 0;
    size_t number = 0;
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        size_t size = (size_t)(end - text);
        size -= size > 0 && text[size - 1] == '\r';
        if (number++ == 0 || size == 0) {
            continue;
        }
        const char *space = memchr(text, ' ', size);
        const char *other = space != NULL ? memchr(space + 1, ' ', (size_t)(text + size - space - 1)) : NULL;
        if (space == NULL || space == text || space + 1 == text + size || other != NULL) {
            return damaged(path, number, "is not two symbols with a space between");
        }
        if (size > MOST_PIECE || clf__utf8_valid_prefix(text, size) != size) {
            return damaged(path, number, "is too long or no UTF-8");
        }
        struct line line = {text, space + 1, (size_t)(space - text), (size_t)(text + size - space - 1)};
        CLF__TRY(take(user, &line, rank++));
    }
    return CLF_OK;
}

/* Each symbol once or more often: the first is its id. */
struct reading {
    struct clf__pieces pieces;
    struct state *side;
    int count;
};

static clf_status add_symbols(void *user, const struct line *line, int rank)
{
    struct reading *reading = user;
    char whole[MOST_PIECE];
    memcpy(whole, line->left, line->left_size);
    memcpy(whole + line->left_size, line->right, line->right_size);
    CLF__TRY(clf__pieces_add(&reading->pieces, line->left, line->left_size, 0));
    CLF__TRY(clf__pieces_add(&reading->pieces, line->right, line->right_size, 0));
    reading->count = rank + 1;
    return clf__pieces_add(&reading->pieces, whole, line->left_size + line->right_size, 0);
}

/* A pair that is there twice has its last rank. */
static clf_status add_merge(void *user, const struct line *line, int rank)
{
    struct reading *reading = user;
    const struct clf__vocabulary *symbols = &reading->side->symbols;
    const char *result = symbols->pieces[3 * rank + 2];
    clf__merges_add(&reading->side->merges, clf__vocabulary_id(symbols, line->left, line->left_size),
                    clf__vocabulary_id(symbols, line->right, line->right_size), rank,
                    clf__vocabulary_id(symbols, result, strlen(result)), 1);
    return CLF_OK;
}

static clf_status read_merges(struct state *side, const char *path)
{
    char *text = NULL;
    size_t size;
    struct reading reading = {.side = side};
    CLF__TRY(clf__file_read(&text, &size, path, MAX_FILE_BYTES));
    clf_status status = memchr(text, '\0', size) == NULL
                            ? each_pair(text, path, add_symbols, &reading)
                            : clf__fail(CLF_FORMAT, "%s: holds a NUL byte; download it again", path);
    if (status == CLF_OK) {
        status = clf__vocabulary_take(&side->symbols, &reading.pieces, path);
    }
    if (status == CLF_OK) {
        status = clf__merges_create(&side->merges, reading.count);
    }
    if (status == CLF_OK) {
        status = each_pair(text, path, add_merge, &reading);
    }
    clf__pieces_free(&reading.pieces);
    clf__free(text);
    return status;
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
        side->case_map = ucasemap_open("", 0, &error); /* of no language */
        status = U_SUCCESS(error) ? read_merges(side, path)
                                  : clf__fail(CLF_OUT_OF_MEMORY, "no host memory left for ICU");
    }
    clf__free(path);
    if (status != CLF_OK && side != NULL) {
        subwords_free(side);
        return status;
    }
    *state = side;
    return status;
}

/* --- Cutting. --- */

struct cutting {
    const struct state *side;
    struct clf__merge_work work;
    char *word;  /* in lower case, and room for @@ */
    int *starts; /* of its characters */
    size_t room;
    clf__piece_function *function;
    void *user;
};

static clf_status make_room(struct cutting *cutting, size_t size)
{
    size_t needed = 4 * size + sizeof joint + sizeof word_end;
    if (needed <= cutting->room) {
        return CLF_OK;
    }
    CLF__TRY(clf__resize(&cutting->word, needed, 1));
    CLF__TRY(clf__resize(&cutting->starts, needed, sizeof *cutting->starts));
    cutting->room = needed;
    return CLF_OK;
}

static clf_status lower(struct cutting *cutting, int32_t *size, const char *word, size_t length)
{
    UErrorCode error = U_ZERO_ERROR;
    if (length > INT32_MAX / 8) {
        return clf__fail(CLF_TEXT, "a word of %zu bytes is too long", length);
    }
    CLF__TRY(make_room(cutting, length));
    *size = ucasemap_utf8ToLower(cutting->side->case_map, cutting->word, (int32_t)(4 * length + 1), word,
                                 (int32_t)length, &error);
    return U_SUCCESS(error) ? CLF_OK : clf__fail(CLF_TEXT, "a word cannot be put in lower case");
}

/* The symbol of some characters, or a number of its own where no pair has them. */
static int32_t symbol_of(const struct cutting *cutting, const char *text, size_t length, int place)
{
    int32_t id = clf__vocabulary_id(&cutting->side->symbols, text, length);
    return id >= 0 ? id : cutting->side->symbols.size + place;
}

/* The word's characters as symbols. Returns how many they are. */
static int begin_symbols(struct cutting *cutting, int32_t size)
{
    int count = 0;
    for (int32_t at = 0; at < size; count++) {
        int32_t start = at;
        U8_FWD_1(cutting->word, at, size);
        cutting->starts[count] = start;
        if (at < size) {
            clf__merge_symbol(&cutting->work,
                              symbol_of(cutting, cutting->word + start, (size_t)(at - start), count));
        }
    }
    cutting->starts[count] = size;
    return count;
}

/* A word of one character is itself, with no end of a word. */
static clf_status cut_word(struct cutting *cutting, const char *text, size_t length)
{
    int32_t size = 0;
    CLF__TRY(lower(cutting, &size, text, length));
    CLF__TRY(clf__merge_begin(&cutting->work, (size_t)size));
    int count = begin_symbols(cutting, size);
    if (count < 2) {
        return size > 0 ? cutting->function(cutting->user, cutting->word, (size_t)size) : CLF_OK;
    }
    int last = cutting->starts[count - 1];
    memcpy(cutting->word + size, word_end, strlen(word_end));
    clf__merge_symbol(&cutting->work, symbol_of(cutting, cutting->word + last,
                                                (size_t)(size - last) + strlen(word_end), count));
    clf__merge_all(&cutting->side->merges, &cutting->work);
    for (int at = 0, next; at >= 0; at = next) {
        next = cutting->work.links[at].next;
        int start = cutting->starts[at], end = next >= 0 ? cutting->starts[next] : size;
        char kept[sizeof joint - 1], *behind = cutting->word + end;
        memcpy(kept, behind, sizeof kept);
        size_t joint_size = next >= 0 ? sizeof kept : 0;
        memcpy(behind, joint, joint_size);
        CLF__TRY(cutting->function(cutting->user, cutting->word + start, (size_t)(end - start) + joint_size));
        memcpy(behind, kept, sizeof kept);
    }
    return CLF_OK;
}

/* What stands between white space: a word begins at each of .,!?() and ' is one. */
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
        /* The end of a line that comes at once is a word, but for the white space that a ' leaves behind. */
        if (end < size && text[end] == '\n' && text[end - 1] != '\'') {
            CLF__TRY(cut_word(cutting, line_end, strlen(line_end)));
        }
        next = end;
    }
    return CLF_OK;
}

static clf_status subwords_segment(const void *state, const char *text, size_t size,
                                   clf__piece_function *function, void *user)
{
    struct cutting cutting = {.side = state, .function = function, .user = user};
    clf_status status = cut_all(&cutting, text, size);
    clf__merge_work_free(&cutting.work);
    clf__free(cutting.word);
    clf__free(cutting.starts);
    return status;
}

/* --- Joining. --- */

static clf_status subwords_join(const void *state, char **text, const char *const *pieces, int count)
{
    (void)state;
    size_t bytes = 1;
    for (int i = 0; i < count; i++) {
        bytes += strlen(pieces[i]) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        end = stpcpy(stpcpy(end, pieces[i]), i + 1 < count ? " " : "");
    }
    clf__text_replace(*text, "@@ ", "");
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
