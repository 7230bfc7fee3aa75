#include "text/tokenizers/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizers/token_list.h"

enum { MAX_FILE_BYTES = 1 << 28 };

/* Finds the slot of a token, or the free slot for it. Token i is the first member of item i; items have
 * `stride` bytes. */
static uint32_t find_slot(const struct clf__token_slots *slots, const void *items, size_t stride,
                          const char *token, size_t length)
{
    uint32_t mask = slots->count - 1, slot = (uint32_t)clf__hash(token, length) & mask;
    for (;; slot = (slot + 1) & mask) {
        int32_t item = slots->items[slot];
        if (item < 0) {
            return slot;
        }
        const char *known = *(const char *const *)((const char *)items + (size_t)item * stride);
        if (strlen(known) == length && memcmp(known, token, length) == 0) {
            return slot;
        }
    }
}

/* Allocates slots for `room` tokens and inserts `count`. */
static clf_status make_slots(struct clf__token_slots *out, int room, const void *items, size_t stride,
                             int count)
{
    struct clf__token_slots slots = {.count = 1};
    while (slots.count < 2 * (uint32_t)room) {
        slots.count *= 2;
    }
    CLF__TRY(clf__allocate(&slots.items, slots.count, sizeof *slots.items));
    memset(slots.items, 0xFF, slots.count * sizeof *slots.items);
    for (int i = 0; i < count; i++) {
        const char *token = *(const char *const *)((const char *)items + (size_t)i * stride);
        int32_t *item = &slots.items[find_slot(&slots, items, stride, token, strlen(token))];
        *item = *item < 0 ? i : *item;
    }
    clf__free(out->items);
    *out = slots;
    return CLF_OK;
}

int32_t clf__vocabulary_id(const struct clf__vocabulary *vocabulary, const char *token, size_t length)
{
    const struct clf__token_slots *slots = &vocabulary->slots;
    return slots->items[find_slot(slots, vocabulary->tokens, sizeof *vocabulary->tokens, token, length)];
}

/* Puts each token, owned by the JSON, at its id. */
static clf_status place_tokens(struct clf__vocabulary *vocabulary, json_t *root)
{
    const char *path = vocabulary->path;
    int size = vocabulary->size;
    if (json_object_size(root) != (size_t)size) {
        return clf__fail(CLF_FORMAT,
                         "%s: %zu tokens, but config.json has %d; download or save both files again", path,
                         json_object_size(root), size);
    }
    CLF__TRY(clf__allocate(&vocabulary->tokens, (size_t)size, sizeof *vocabulary->tokens));
    const char *token;
    json_t *value;
    json_object_foreach(root, token, value)
    {
        if (!json_is_integer(value)) {
            return clf__fail(CLF_FORMAT,
                             "%s: the id of \"%s\" is not an integer; download or save the file again", path,
                             token);
        }
        json_int_t id = json_integer_value(value);
        if (id < 0 || id >= size) {
            return clf__fail(CLF_FORMAT,
                             "%s: the id of \"%s\" is %lld, not in 0 .. %d; download or save the file again",
                             path, token, (long long)id, size - 1);
        }
        if (vocabulary->tokens[id]) {
            return clf__fail(CLF_FORMAT,
                             "%s: \"%s\" and \"%s\" have the same id %lld; download or save the file again",
                             path, vocabulary->tokens[id], token, (long long)id);
        }
        vocabulary->tokens[id] = token;
    }
    return CLF_OK;
}

/* Creates the flags, all clear, and the hash table. */
static clf_status finish(struct clf__vocabulary *vocabulary)
{
    CLF__TRY(clf__allocate(&vocabulary->marks, (size_t)vocabulary->size, sizeof *vocabulary->marks));
    return make_slots(&vocabulary->slots, vocabulary->size, vocabulary->tokens, sizeof *vocabulary->tokens,
                      vocabulary->size);
}

/* Copies the tokens out of the JSON. */
static clf_status own_tokens(struct clf__vocabulary *vocabulary)
{
    size_t bytes = 0;
    for (int id = 0; id < vocabulary->size; id++) {
        bytes += strlen(vocabulary->tokens[id]) + 1;
    }
    CLF__TRY(clf__allocate(&vocabulary->text, bytes, 1));
    char *end = vocabulary->text;
    for (int id = 0; id < vocabulary->size; id++) {
        size_t length = strlen(vocabulary->tokens[id]) + 1;
        memcpy(end, vocabulary->tokens[id], length);
        vocabulary->tokens[id] = end;
        end += length;
    }
    return finish(vocabulary);
}

static clf_status fill(struct clf__vocabulary *vocabulary, const char *path)
{
    CLF__TRY(clf__copy_string(&vocabulary->path, path));
    struct clf__json json;
    struct clf__json_limits limits = {MAX_FILE_BYTES, CLF__MAX_VOCABULARY};
    if (vocabulary->size > 0) { /* so that the error for a slightly larger file names both sizes */
        limits.values = 2 * (size_t)vocabulary->size + 65536;
    }
    CLF__TRY(clf__json_load(&json, path, limits));
    if (vocabulary->size == 0) {
        vocabulary->size = (int)json_object_size(json.root);
    }
    clf_status status =
        vocabulary->size > 0
            ? CLF_OK
            : clf__fail(CLF_FORMAT, "%s: no tokens in the file; download the file again", path);
    if (status == CLF_OK) {
        status = place_tokens(vocabulary, json.root);
    }
    if (status == CLF_OK) {
        status = own_tokens(vocabulary);
    }
    clf__json_free(&json);
    return status;
}

clf_status clf__vocabulary_load(struct clf__vocabulary *out, const char *path, int size)
{
    *out = (struct clf__vocabulary){0};
    if (size < 0 || size > CLF__MAX_VOCABULARY) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: a vocabulary of %d tokens is not supported; use another model", path, size);
    }
    struct clf__vocabulary vocabulary = {.size = size};
    clf_status status = fill(&vocabulary, path);
    if (status != CLF_OK) {
        clf__vocabulary_free(&vocabulary);
        return status;
    }
    *out = vocabulary;
    return CLF_OK;
}

static clf_status add_tokens(struct clf__token_list *out, struct clf__vocabulary *vocabulary, json_t *root)
{
    vocabulary->size = (int)json_object_size(root);
    if (vocabulary->size == 0) {
        return clf__fail(CLF_FORMAT, "%s: no tokens in the file; download the file again", vocabulary->path);
    }
    CLF__TRY(place_tokens(vocabulary, root));
    for (int id = 0; id < vocabulary->size; id++) {
        CLF__TRY(clf__token_list_add(out, vocabulary->tokens[id], strlen(vocabulary->tokens[id]), 0));
    }
    return CLF_OK;
}

clf_status clf__vocabulary_read(struct clf__token_list *out, const char *path)
{
    struct clf__json json;
    struct clf__vocabulary vocabulary = {.path = (char *)path};
    struct clf__json_limits limits = {MAX_FILE_BYTES, CLF__MAX_VOCABULARY};
    CLF__TRY(clf__json_load(&json, path, limits));
    clf_status status = add_tokens(out, &vocabulary, json.root);
    clf__free(vocabulary.tokens);
    clf__json_free(&json);
    return status;
}

static clf_status take(struct clf__vocabulary *vocabulary, struct clf__token_list *tokens, const char *path)
{
    CLF__TRY(clf__copy_string(&vocabulary->path, path));
    if (tokens->count < 1 || tokens->count > CLF__MAX_VOCABULARY) {
        return clf__fail(CLF_FORMAT, "%s: %d tokens are not supported; use 1 to %d", path, tokens->count,
                         (int)CLF__MAX_VOCABULARY);
    }
    vocabulary->size = tokens->count;
    vocabulary->text = tokens->text;
    tokens->text = NULL;
    CLF__TRY(clf__allocate(&vocabulary->tokens, (size_t)vocabulary->size, sizeof *vocabulary->tokens));
    const char *token = vocabulary->text;
    for (int id = 0; id < vocabulary->size; id++) {
        size_t length = strlen(token);
        if (clf__utf8_valid_prefix(token, length) !=
            length) { /* an invalid token would make decoded text invalid */
            return clf__fail(CLF_FORMAT, "%s: token %d (\"%.80s\") is not UTF-8; download the file again",
                             path, id, token);
        }
        vocabulary->tokens[id] = token;
        token += length + 1;
    }
    CLF__TRY(finish(vocabulary));
    memcpy(vocabulary->marks, tokens->marks, (size_t)vocabulary->size * sizeof *tokens->marks);
    return CLF_OK;
}

clf_status clf__vocabulary_take(struct clf__vocabulary *out, struct clf__token_list *tokens, const char *path)
{
    *out = (struct clf__vocabulary){0};
    struct clf__vocabulary vocabulary = {.size = 0};
    clf_status status = take(&vocabulary, tokens, path);
    clf__token_list_free(tokens);
    if (status != CLF_OK) {
        clf__vocabulary_free(&vocabulary);
        return status;
    }
    *out = vocabulary;
    return CLF_OK;
}

void clf__vocabulary_free(struct clf__vocabulary *vocabulary)
{
    clf__free(vocabulary->path);
    clf__free(vocabulary->text);
    clf__free(vocabulary->tokens);
    clf__free(vocabulary->slots.items);
    clf__free(vocabulary->marks);
    *vocabulary = (struct clf__vocabulary){0};
}

/* Doubles the capacity, with twice as many slots. */
static clf_status grow(struct clf__token_counts *counts)
{
    if (counts->capacity > 1 << 28) {
        return clf__fail(CLF_TEXT, "a text with more than %d different tokens is not supported",
                         counts->count);
    }
    int capacity = counts->capacity > 0 ? 2 * counts->capacity : 1024;
    CLF__TRY(clf__resize(&counts->items, (size_t)capacity, sizeof *counts->items));
    CLF__TRY(make_slots(&counts->slots, capacity, counts->items, sizeof *counts->items, counts->count));
    counts->capacity = capacity;
    return CLF_OK;
}

clf_status clf__token_counts_add(void *user, const char *token, size_t length)
{
    struct clf__token_counts *counts = user;
    if (counts->count == counts->capacity) {
        CLF__TRY(grow(counts));
    }
    int32_t *item =
        &counts->slots.items[find_slot(&counts->slots, counts->items, sizeof *counts->items, token, length)];
    if (*item < 0) {
        char *copy = NULL;
        CLF__TRY(clf__copy_bytes(&copy, token, length));
        counts->items[counts->count] = (struct clf__counted_token){copy, 0};
        *item = counts->count++;
    }
    counts->items[*item].count++;
    return CLF_OK;
}

static int by_count(const void *left, const void *right)
{
    const struct clf__counted_token *a = left, *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return strcmp(a->token, b->token);
}

void clf__token_counts_sort(struct clf__token_counts *counts)
{
    if (counts->count > 0) {
        qsort(counts->items, (size_t)counts->count, sizeof *counts->items, by_count);
    }
}

void clf__token_counts_free(struct clf__token_counts *counts)
{
    for (int i = 0; i < counts->count; i++) {
        clf__free((void *)counts->items[i].token);
    }
    clf__free(counts->items);
    clf__free(counts->slots.items);
    *counts = (struct clf__token_counts){0};
}

clf_status clf__vocabulary_write(const char *path, const char *const *tokens, int count)
{
    json_t *root = json_object();
    int failed = root == NULL;
    for (int i = 0; i < count; i++) {
        failed |= json_object_set_new(root, tokens[i], json_integer(i)) != 0;
    }
    clf_status status = clf__json_write(path, failed ? NULL : root, 0);
    json_decref(root);
    return status;
}
