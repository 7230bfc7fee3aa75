/* Segments like tiktoken: a word that is a token becomes that token; otherwise the adjacent pair with the
 * lowest rank is merged, leftmost first, until no pair is left (tiktoken, src/lib.rs). */
#include "text/tokenizers/json/tiktoken.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_pairs.h"
#include "text/tokenizers/speech_tokens.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/vocabulary.h"

enum { MOST_FILE_BYTES = 1 << 24, LONGEST = 256, BYTES = 256 };

/* The state of reading a file. */
struct reading {
    const char *path;
    json_t *vocab; /* token: id, in byte-level characters */
    int rank;      /* rank of the current line */
};

static clf_status damaged(const struct reading *reading, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: line %d %s; download the file again", reading->path, reading->rank + 1,
                     what);
}

/* Writes bytes as byte-level characters, NUL-terminated. */
static void write_token(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out += clf__byte_pairs_character(out, bytes[i]);
    }
    *out = '\0';
}

/* Adds a token. A duplicate token, or one longer than any in openai/whisper's files, is an error. */
static clf_status add_token(struct reading *reading, const char *text, size_t length)
{
    uint8_t bytes[LONGEST];
    char token[2 * LONGEST + 1];
    size_t size;
    if (length == 1 &&
        *text == '=') { /* the last token of multilingual.tiktoken, which Python decodes to no bytes */
        return CLF_OK;
    }
    if (length == 0 || length > LONGEST || !clf__base64_decode(bytes, &size, text, length)) {
        return damaged(reading, "has no token in base64");
    }
    write_token(token, bytes, size);
    if (json_object_get(reading->vocab, token) != NULL) {
        return damaged(reading, "repeats an earlier token");
    }
    return json_object_set_new(reading->vocab, token, json_integer(reading->rank)) == 0
               ? CLF_OK
               : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", reading->path);
}

/* Ranks must equal the line index, without sign or leading zeros. */
static clf_status read_line(struct reading *reading, const char *line, size_t length)
{
    char expected[16];
    const char *space = memchr(line, ' ', length);
    if (space == NULL) {
        return damaged(reading, "is not a token, a space and its rank");
    }
    size_t size = (size_t)snprintf(expected, sizeof expected, "%d", reading->rank);
    if (size != length - (size_t)(space + 1 - line) || memcmp(space + 1, expected, size) != 0) {
        return damaged(reading, "does not have its line index, counted from 0, as the rank");
    }
    return add_token(reading, line, (size_t)(space - line));
}

static clf_status check_bytes(const struct reading *reading)
{
    for (int byte = 0; byte < BYTES; byte++) {
        const uint8_t bytes[] = {(uint8_t)byte};
        char token[3];
        write_token(token, bytes, 1);
        if (json_object_get(reading->vocab, token) == NULL) {
            return clf__fail(CLF_FORMAT, "%s: no token for the byte 0x%02x; download the file again",
                             reading->path, (unsigned)byte);
        }
    }
    return CLF_OK;
}

static clf_status read_lines(struct reading *reading, const char *text, size_t size, int rows)
{
    const char *end = text + size, *next;
    for (const char *line = text; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (next == NULL) {
            return damaged(reading, "is truncated");
        }
        if (reading->rank >= rows) {
            return damaged(reading, "exceeds the model's vocabulary; use the file of this model");
        }
        CLF__TRY(read_line(reading, line, (size_t)(next - line)));
        reading->rank++;
    }
    CLF__TRY(check_bytes(reading));
    int languages = clf__speech_room(reading->rank, rows);
    return languages >= 1 && languages <= CLF__SPEECH_LANGUAGES
               ? CLF_OK
               : clf__fail(
                     CLF_FORMAT,
                     "%s: %d tokens, which does not match a model with %d ids; use the file of this model",
                     reading->path, reading->rank, rows);
}

static clf_status read_file(struct reading *reading, int rows)
{
    char *text;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, reading->path, MOST_FILE_BYTES));
    reading->vocab = json_object();
    clf_status status =
        reading->vocab != NULL
            ? read_lines(reading, text, size, rows)
            : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", reading->path);
    clf__free(text);
    return status;
}

clf_status clf__tiktoken_count(int *out, const char *path, int rows)
{
    struct reading reading = {.path = path};
    clf_status status = read_file(&reading, rows);
    json_decref(reading.vocab);
    *out = reading.rank;
    return status;
}

/* Lists the special tokens, which are matched verbatim in text. */
static json_t *added_tokens(const struct clf__token_list *tokens, int first)
{
    json_t *list = json_array();
    const char *text = tokens->text;
    for (int i = 0; i < tokens->count && list != NULL; i++, text += strlen(text) + 1) {
        json_array_append_new(list,
                              json_pack("{si ss sb sb sb sb sb}", "id", first + i, "content", text, "special",
                                        1, "normalized", 0, "lstrip", 0, "rstrip", 0, "single_word", 0));
    }
    if (json_array_size(list) != (size_t)tokens->count) {
        json_decref(list);
        list = NULL;
    }
    return list;
}

/* Builds tokenizer.json from the tokens read, followed by the special tokens. */
static clf_status make(json_t **out, const struct reading *reading, const struct clf__token_list *specials)
{
    *out = json_pack("{so? s{ss sb} s{ss} s{ss sO sb ss}}", "added_tokens",
                     added_tokens(specials, reading->rank), "pre_tokenizer", "type", "ByteLevel",
                     "add_prefix_space", 0, "decoder", "type", "ByteLevel", "model", "type", "BPE", "vocab",
                     reading->vocab, "ignore_merges", 1, "merges", "by result");
    if (json_object_get(*out, "added_tokens") != NULL) {
        return CLF_OK;
    }
    json_decref(*out);
    *out = NULL;
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", reading->path);
}

clf_status clf__tiktoken_read(json_t **out, const char *path, int rows)
{
    struct reading reading = {.path = path};
    struct clf__token_list specials = {.count = 0};
    *out = NULL;
    clf_status status = read_file(&reading, rows);
    if (status == CLF_OK) {
        status = clf__speech_specials(&specials, clf__speech_room(reading.rank, rows));
    }
    if (status == CLF_OK) {
        status = make(out, &reading, &specials);
    }
    clf__token_list_free(&specials);
    json_decref(reading.vocab);
    return status;
}

/* Whisper's vocab.json has an empty entry, which is not a token. */
static clf_status read_vocabulary(struct reading *reading, struct clf__token_list *specials,
                                  const struct clf__vocabulary *vocabulary)
{
    static const char first[] = "<|endoftext|>";
    reading->vocab = json_object();
    reading->rank = clf__vocabulary_id(vocabulary, first, strlen(first));
    if (reading->rank < 0) {
        return clf__fail(CLF_FORMAT, "%s: the token %s is missing; download the file again", reading->path,
                         first);
    }
    int failed = reading->vocab == NULL;
    for (int id = 0; id < reading->rank; id++) {
        const char *token = vocabulary->tokens[id];
        failed |= *token != '\0' && json_object_set_new(reading->vocab, token, json_integer(id)) != 0;
    }
    if (failed) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", reading->path);
    }
    for (int id = reading->rank; id < vocabulary->size; id++) {
        CLF__TRY(clf__token_list_add(specials, vocabulary->tokens[id], strlen(vocabulary->tokens[id]), 0));
    }
    return check_bytes(reading);
}

clf_status clf__tiktoken_of_vocabulary(json_t **out, const struct clf__vocabulary *vocabulary)
{
    struct reading reading = {.path = vocabulary->path};
    struct clf__token_list specials = {.count = 0};
    *out = NULL;
    clf_status status = read_vocabulary(&reading, &specials, vocabulary);
    if (status == CLF_OK) {
        status = make(out, &reading, &specials);
    }
    clf__token_list_free(&specials);
    json_decref(reading.vocab);
    return status;
}
