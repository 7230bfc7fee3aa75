#include "text/tokenizers/segmenters/byte_pairs.h"

#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/token_list.h"

enum { BYTES = 256, MAX_FILE_BYTES = 1 << 28 };

/* GPT-2's table: printable Latin-1 characters encode themselves; the other bytes, 0x00 to 0x20, 0x7f to 0xa0
 * and 0xad, map to U+0100 and up in ascending order. */
enum { SPACE = 0x20, DELETE = 0x7f, HARD_SPACE = 0xa0, SOFT_HYPHEN = 0xad };
enum {
    FROM_NUL = 0x100,
    FROM_DELETE = FROM_NUL + SPACE + 1,
    FROM_HYPHEN = FROM_DELETE + HARD_SPACE - DELETE + 1
};

static int character_of(int byte)
{
    return byte <= SPACE                          ? FROM_NUL + byte
           : byte >= DELETE && byte <= HARD_SPACE ? FROM_DELETE + byte - DELETE
           : byte == SOFT_HYPHEN                  ? FROM_HYPHEN
                                                  : byte;
}

/* Returns the byte that a character encodes, or -1. */
static int byte_of(int character)
{
    int byte = character < FROM_NUL      ? character
               : character < FROM_DELETE ? character - FROM_NUL
               : character < FROM_HYPHEN ? character - FROM_DELETE + DELETE
                                         : SOFT_HYPHEN;
    return character_of(byte) == character ? byte : -1;
}

int clf__byte_pairs_byte(const char **text)
{
    const unsigned char *bytes = (const unsigned char *)*text;
    int character = bytes[0] < 0x80 ? bytes[0] : -1, length = 1;
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf && (bytes[1] & 0xc0) == 0x80) {
        character = (bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f);
        length = 2;
    }
    int byte = character < 0 ? -1 : byte_of(character);
    *text += byte >= 0 ? length : 0;
    return byte;
}

int clf__byte_pairs_character(char out[2], int byte)
{
    int character = character_of(byte);
    out[0] = (char)(character < 0x80 ? character : 0xc0 | character >> 6);
    out[1] = (char)(0x80 | (character & 0x3f));
    return character < 0x80 ? 1 : 2;
}

static clf_status add_bytes(struct clf__token_list *tokens)
{
    for (int byte = 0; byte < BYTES; byte++) {
        char text[2];
        int length = clf__byte_pairs_character(text, byte);
        CLF__TRY(clf__token_list_add(tokens, text, (size_t)length, 0));
    }
    return CLF_OK;
}

struct line {
    const char *left, *right;
    size_t left_size, right_size;
};

/* Reads the next pair of the file; returns 0 at the end. Sets *damaged if the line is not a pair. */
static int next_pair(struct line *out, const char **text, int *damaged)
{
    while (**text != '\0') {
        const char *line = *text;
        size_t size = strcspn(line, "\n");
        *text += size + (line[size] == '\n');
        size -= size > 0 && line[size - 1] == '\r';
        if (size == 0 || strncmp(line, "#version", strlen("#version")) == 0) {
            continue;
        }
        const char *space = memchr(line, ' ', size);
        *damaged = space == NULL || space == line || space + 1 == line + size;
        if (!*damaged) {
            *out = (struct line){line, space + 1, (size_t)(space - line), (size_t)(line + size - space - 1)};
        }
        return 1;
    }
    return 0;
}

static clf_status damaged(const char *path, int rank, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: pair %d %s; download the file again", path, rank + 1, what);
}

/* Adds every symbol that a merge produces. */
static clf_status add_results(struct clf__token_list *tokens, int *count, const char *text, const char *path)
{
    struct line line;
    int is_damaged = 0;
    for (*count = 0; next_pair(&line, &text, &is_damaged); ++*count) {
        if (is_damaged || line.left_size + line.right_size > INT_MAX / 2) {
            return damaged(path, *count, "is not two symbols separated by a space");
        }
        char *whole = NULL;
        CLF__TRY(clf__allocate(&whole, line.left_size + line.right_size, 1));
        memcpy(whole, line.left, line.left_size);
        memcpy(whole + line.left_size, line.right, line.right_size);
        size_t size = line.left_size + line.right_size;
        clf_status status = clf__utf8_valid_prefix(whole, size) == size
                                ? clf__token_list_add(tokens, whole, size, 0)
                                : damaged(path, *count, "is not UTF-8");
        clf__free(whole);
        CLF__TRY(status);
    }
    return CLF_OK;
}

static clf_status add_merges(struct clf__byte_pairs *pairs, int count, const char *text)
{
    CLF__TRY(clf__merges_create(&pairs->merges, count));
    struct line line;
    int is_damaged;
    for (int rank = 0; next_pair(&line, &text, &is_damaged); rank++) {
        const char *result = pairs->symbols.tokens[BYTES + rank];
        int32_t left = clf__vocabulary_id(&pairs->symbols, line.left, line.left_size);
        int32_t right = clf__vocabulary_id(&pairs->symbols, line.right, line.right_size);
        /* A pair is ignored if no merge produces one of its symbols: when transformers saves a file without a
         * version line, it drops the first pair. A repeated pair keeps its first rank. */
        if (left >= 0 && right >= 0) {
            clf__merges_add(&pairs->merges, left, right, rank,
                            clf__vocabulary_id(&pairs->symbols, result, strlen(result)), 0);
        }
    }
    return CLF_OK;
}

static clf_status read_text(struct clf__byte_pairs *pairs, const char *text, const char *path)
{
    struct clf__token_list tokens = {0};
    int count = 0;
    clf_status status = add_bytes(&tokens);
    if (status == CLF_OK) {
        status = add_results(&tokens, &count, text, path);
    }
    if (status == CLF_OK) {
        status = clf__vocabulary_take(&pairs->symbols, &tokens, path);
    }
    clf__token_list_free(&tokens);
    return status == CLF_OK ? add_merges(pairs, count, text) : status;
}

clf_status clf__byte_pairs_read(struct clf__byte_pairs *out, const char *path)
{
    char *text = NULL;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, path, MAX_FILE_BYTES));
    *out = (struct clf__byte_pairs){.symbols = {.size = 0}};
    clf_status status =
        memchr(text, '\0', size) == NULL
            ? read_text(out, text, path)
            : clf__fail(CLF_FORMAT, "%s: the file contains a NUL byte; download the file again", path);
    clf__free(text);
    if (status != CLF_OK) {
        clf__byte_pairs_free(out);
    }
    return status;
}

void clf__byte_pairs_free(struct clf__byte_pairs *pairs)
{
    clf__vocabulary_free(&pairs->symbols);
    clf__merges_free(&pairs->merges);
    *pairs = (struct clf__byte_pairs){.symbols = {.size = 0}};
}

clf_status clf__byte_pairs_cut(const struct clf__byte_pairs *pairs, struct clf__merge_work *work,
                               const char *word, size_t size, clf__token_function *function, void *user)
{
    CLF__TRY(clf__merge_begin(work, size));
    for (size_t i = 0; i < size; i++) {
        clf__merge_symbol(work, (unsigned char)word[i]);
    }
    clf__merge_all(&pairs->merges, work);
    for (int at = 0; at >= 0 && work->count > 0; at = work->links[at].next) {
        const char *token = pairs->symbols.tokens[work->links[at].symbol];
        CLF__TRY(function(user, token, strlen(token)));
    }
    return CLF_OK;
}
