#include "text/tokenizers/segmenters/pairs.h"

#include <string.h>

#include <unicode/utf8.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/clean_up.h"
#include "text/tokenizers/token_list.h"

enum { MAX_FILE_BYTES = 1 << 28, MOST_SUBWORD = 1 << 16 };
static const char word_end[] = "</w>", joint[] = "@@";

void clf__pairs_free(struct clf__pairs *pairs)
{
    clf__vocabulary_free(&pairs->symbols);
    clf__merges_free(&pairs->merges);
    *pairs = (struct clf__pairs){.symbols = {.size = 0}};
}

/* --- Reading the file --- */

struct line {
    const char *left, *right;
    size_t left_size, right_size;
};

/* The state of reading a file. If a symbol is repeated, its first occurrence determines the id. */
struct reading {
    const char *text, *path;
    size_t number; /* line number */
    enum clf__pairs_kind kind;
    struct clf__token_list tokens;
    struct clf__pairs *pairs;
    int count;
};

static clf_status damaged(const struct reading *reading, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: line %zu %s; download the file again", reading->path, reading->number,
                     what);
}

/* Returns the next line of *text without its line ending; NULL: end of file. */
static const char *next_line(const struct reading *reading, const char **text, size_t *size)
{
    int is_python = reading->kind != CLF__PAIRS_TRANSFORMERS; /* Python also ends a line at a lone carriage
                                                                return */
    const char *line = *text;
    *size = strcspn(line, is_python ? "\r\n" : "\n");
    const char *end = line + *size;
    if (*end == '\0') {
        *text = end;
        return reading->kind == CLF__PAIRS_SUBWORD_NMT && *size > 0 ? line : NULL;
    }
    *text = end + 1 + (*end == '\r' && end[1] == '\n');
    *size -= !is_python && *size > 0 && end[-1] == '\r';
    return line;
}

/* Reads "#version: 0.2"; trailing zeros are ignored. */
static clf_status read_version(const struct reading *reading, const char *line, size_t size)
{
    while (size > 0 && line[size - 1] == ' ') {
        size--;
    }
    while (size > 2 && memcmp(line + size - 2, ".0", 2) == 0) {
        size -= 2;
    }
    size_t start = size;
    while (start > 0 && line[start - 1] != ' ' && line[start - 1] != '\t') {
        start--;
    }
    int is_old = size - start == 3 && memcmp(line + start, "0.1", 3) == 0;
    reading->pairs->ends_apart = is_old;
    return is_old || (size - start == 3 && memcmp(line + start, "0.2", 3) == 0)
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: the first line declares \"%.*s\"; use a file of version 0.1 or 0.2",
                           reading->path, (int)(size < 60 ? size : clf__utf8_cut(line, 60)), line);
}

/* Returns whether a line is not a pair. */
static clf_status is_other(int *out, const struct reading *reading, const char *line, size_t size)
{
    static const char version[] = "#version:";
    *out = size == 0 || (reading->number == 1 && reading->kind == CLF__PAIRS_TRANSFORMERS);
    if (reading->kind != CLF__PAIRS_SUBWORD_NMT) {
        return CLF_OK;
    }
    *out = reading->number == 1 && strncmp(line, version, strlen(version)) == 0;
    if (reading->number == 1) {
        reading->pairs->ends_apart = 1;
    }
    return *out ? read_version(reading, line, size) : CLF_OK;
}

static clf_status read_pair(struct line *out, const struct reading *reading, const char *line, size_t size)
{
    while (reading->kind == CLF__PAIRS_SUBWORD_NMT && size > 0 && line[size - 1] == ' ') {
        size--;
    }
    while (reading->kind == CLF__PAIRS_SUBWORD_NMT && size > 0 && *line == ' ') {
        line++;
        size--;
    }
    const char *space = memchr(line, ' ', size);
    const char *other = space != NULL ? memchr(space + 1, ' ', (size_t)(line + size - space - 1)) : NULL;
    if (other != NULL && reading->kind == CLF__PAIRS_FASTBPE) { /* drops a third column, the frequency */
        size = (size_t)(other - line);
        other = NULL;
    }
    if (space == NULL || space == line || space + 1 == line + size || other != NULL) {
        return damaged(reading, "is not two symbols separated by a space");
    }
    if (size > MOST_SUBWORD || clf__utf8_valid_prefix(line, size) != size) {
        return damaged(reading, "is too long or not UTF-8");
    }
    *out = (struct line){line, space + 1, (size_t)(space - line), (size_t)(line + size - space - 1)};
    return CLF_OK;
}

/* Calls `take` for every pair. */
static clf_status each_pair(struct reading *reading,
                            clf_status (*take)(struct reading *reading, const struct line *line, int rank))
{
    const char *text = reading->text;
    size_t size;
    int rank = 0;
    reading->number = 0;
    for (const char *line; (line = next_line(reading, &text, &size)) != NULL;) {
        int other;
        struct line pair;
        reading->number++;
        CLF__TRY(is_other(&other, reading, line, size));
        if (!other) {
            CLF__TRY(read_pair(&pair, reading, line, size));
            CLF__TRY(take(reading, &pair, rank++));
        }
    }
    return CLF_OK;
}

static clf_status add_symbols(struct reading *reading, const struct line *line, int rank)
{
    char whole[MOST_SUBWORD];
    memcpy(whole, line->left, line->left_size);
    memcpy(whole + line->left_size, line->right, line->right_size);
    CLF__TRY(clf__token_list_add(&reading->tokens, line->left, line->left_size, 0));
    CLF__TRY(clf__token_list_add(&reading->tokens, line->right, line->right_size, 0));
    reading->count = rank + 1;
    return clf__token_list_add(&reading->tokens, whole, line->left_size + line->right_size, 0);
}

static clf_status add_merge(struct reading *reading, const struct line *line, int rank)
{
    const struct clf__vocabulary *symbols = &reading->pairs->symbols;
    const char *result = symbols->tokens[3 * rank + 2];
    clf__merges_add(&reading->pairs->merges, clf__vocabulary_id(symbols, line->left, line->left_size),
                    clf__vocabulary_id(symbols, line->right, line->right_size), rank,
                    clf__vocabulary_id(symbols, result, strlen(result)),
                    reading->kind != CLF__PAIRS_SUBWORD_NMT);
    return CLF_OK;
}

static clf_status read_text(struct reading *reading, size_t size)
{
    struct clf__pairs *pairs = reading->pairs;
    if (memchr(reading->text, '\0', size) != NULL) {
        return clf__fail(CLF_FORMAT, "%s: the file contains a NUL byte; download the file again",
                         reading->path);
    }
    CLF__TRY(each_pair(reading, add_symbols));
    CLF__TRY(clf__vocabulary_take(&pairs->symbols, &reading->tokens, reading->path));
    CLF__TRY(clf__merges_create(&pairs->merges, reading->count));
    pairs->merges.at_once = 1;
    return each_pair(reading, add_merge);
}

clf_status clf__pairs_read(struct clf__pairs *out, const char *path, enum clf__pairs_kind kind)
{
    char *text = NULL;
    size_t size;
    *out = (struct clf__pairs){.kind = kind};
    CLF__TRY(clf__file_read(&text, &size, path, MAX_FILE_BYTES));
    struct reading reading = {.text = text, .path = path, .kind = kind, .pairs = out};
    clf_status status = read_text(&reading, size);
    clf__token_list_free(&reading.tokens);
    clf__free(text);
    if (status != CLF_OK) {
        clf__pairs_free(out);
    }
    return status;
}

/* --- Segmentation --- */

void clf__pairs_work_free(struct clf__pairs_work *work)
{
    clf__merge_work_free(&work->merges);
    clf__free(work->word);
    clf__free(work->starts);
    *work = (struct clf__pairs_work){.room = 0};
}

static clf_status take_word(struct clf__pairs_work *work, const char *word, size_t size)
{
    size_t needed = size + sizeof joint + sizeof word_end;
    CLF__TRY(clf__merge_begin(&work->merges, size + 1)); /* fails if a word is too long */
    if (needed > work->room) {
        CLF__TRY(clf__resize(&work->word, 2 * needed, 1));
        CLF__TRY(clf__resize(&work->starts, 2 * needed, sizeof *work->starts));
        work->room = 2 * needed;
    }
    memcpy(work->word, word, size);
    return CLF_OK;
}

/* Adds the symbol for bytes `start` to `end`, or a unique id if no pair contains them. */
static void add_symbol(const struct clf__pairs *pairs, struct clf__pairs_work *work, int start, int end,
                       int place)
{
    int32_t id = clf__vocabulary_id(&pairs->symbols, work->word + start, (size_t)(end - start));
    clf__merge_symbol(&work->merges, id >= 0 ? id : pairs->symbols.size + place);
}

/* Adds the characters of the word and its end as symbols. Returns the number of characters. */
static int add_symbols_of(const struct clf__pairs *pairs, struct clf__pairs_work *work, int size)
{
    int count = 0, end = size + (int)strlen(word_end);
    memcpy(work->word + size, word_end, strlen(word_end));
    for (int at = 0; at < size; count++) {
        int start = at;
        U8_FWD_1(work->word, at, size);
        work->starts[count] = start;
        add_symbol(pairs, work, start, at < size || pairs->ends_apart ? at : end, count);
    }
    work->starts[count] = size;
    if (pairs->ends_apart) {
        add_symbol(pairs, work, size, end, count);
    }
    return count;
}

/* Calls `function` with the bytes of a word from start to end, followed by @@ unless the bytes end the word.
 */
static clf_status give_token(const struct clf__pairs *pairs, struct clf__pairs_work *work, int start, int end,
                             int size, clf__token_function *function, void *user)
{
    char kept[sizeof joint - 1], *behind = work->word + end;
    size_t length = (size_t)(end - start);
    if (pairs->kind == CLF__PAIRS_FASTBPE) {
        return function(user, work->word + start, length + (end < size ? 0 : strlen(word_end)));
    }
    size_t joint_size = end < size ? sizeof kept : 0;
    memcpy(kept, behind, sizeof kept);
    memcpy(behind, joint, joint_size);
    CLF__TRY(function(user, work->word + start, length + joint_size));
    memcpy(behind, kept, sizeof kept);
    return CLF_OK;
}

/* Segments a word. A word of one character is a single token. */
clf_status clf__pairs_cut(const struct clf__pairs *pairs, struct clf__pairs_work *work, const char *word,
                          size_t size, clf__token_function *function, void *user)
{
    CLF__TRY(take_word(work, word, size));
    if (add_symbols_of(pairs, work, (int)size) < 2) {
        return size > 0 ? give_token(pairs, work, 0, (int)size, (int)size, function, user) : CLF_OK;
    }
    clf__merge_all(&pairs->merges, &work->merges);
    for (int at = 0, end = 0; end < (int)size;) {
        int next = work->merges.links[at].next, start = work->starts[at];
        end = next >= 0 ? work->starts[next] : (int)size;
        CLF__TRY(give_token(pairs, work, start, end, (int)size, function, user));
        at = next;
    }
    return CLF_OK;
}

/* --- Joining --- */

/* Replaces each run of white space with one space, and strips white space at both ends, in place. */
static void space_once(char *text)
{
    char *end = text;
    for (const char *at = text; *at != '\0';) {
        size_t space = clf__text_space(at);
        if (space == 0) {
            *end++ = *at++;
            continue;
        }
        if (end > text && end[-1] != ' ') {
            *end++ = ' ';
        }
        at += space;
    }
    *(end > text && end[-1] == ' ' ? end - 1 : end) = '\0';
}

clf_status clf__pairs_join(const struct clf__pairs *pairs, char **text, const char *const *tokens, int count)
{
    size_t bytes = 1;
    int is_fast = pairs->kind == CLF__PAIRS_FASTBPE;
    for (int i = 0; i < count; i++) {
        bytes += strlen(tokens[i]) + 1;
    }
    CLF__TRY(clf__allocate(text, bytes, 1));
    char *end = *text;
    for (int i = 0; i < count; i++) {
        char *start = end;
        end = stpcpy(stpcpy(end, tokens[i]), i + 1 < count && !is_fast ? " " : "");
        if (is_fast) {
            clf__text_replace(start, word_end, " ");
            end = start + strlen(start);
        }
    }
    if (is_fast) {
        space_once(*text);
    } else {
        clf__text_replace(*text, "@@ ", "");
    }
    return CLF_OK;
}
