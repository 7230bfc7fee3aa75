#include "text/vocabulary.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

enum { MAX_FILE_BYTES = 1 << 28 };

int32_t clf__vocabulary_id(const struct clf__vocabulary *vocabulary, const char *piece, size_t length)
{
    uint32_t mask = vocabulary->slot_count - 1;
    for (uint32_t slot = (uint32_t)clf__hash(piece, length) & mask;; slot = (slot + 1) & mask) {
        int32_t id = vocabulary->slots[slot];
        if (id < 0) {
            return -1;
        }
        const char *known = vocabulary->pieces[id];
        if (strlen(known) == length && memcmp(known, piece, length) == 0) {
            return id;
        }
    }
}

static void insert(struct clf__vocabulary *vocabulary, int32_t id)
{
    const char *piece = vocabulary->pieces[id];
    uint32_t mask = vocabulary->slot_count - 1;
    uint32_t slot = (uint32_t)clf__hash(piece, strlen(piece)) & mask;
    while (vocabulary->slots[slot] >= 0) {
        slot = (slot + 1) & mask;
    }
    vocabulary->slots[slot] = id;
}

/* Puts each piece, still the JSON's, at its id. */
static clf_status place_pieces(struct clf__vocabulary *vocabulary, json_t *root)
{
    const char *path = vocabulary->path;
    int size = vocabulary->size;
    if (json_object_size(root) != (size_t)size) {
        return clf__fail(CLF_FORMAT,
                         "%s: has %zu pieces, the model's configuration says %d; download or save both again",
                         path, json_object_size(root), size);
    }
    const char *piece;
    json_t *value;
    json_object_foreach(root, piece, value)
    {
        if (!json_is_integer(value)) {
            return clf__fail(CLF_FORMAT,
                             "%s: the id of \"%s\" is not a whole number; download or save it again", path,
                             piece);
        }
        json_int_t id = json_integer_value(value);
        if (id < 0 || id >= size) {
            return clf__fail(CLF_FORMAT,
                             "%s: the id of \"%s\" is %lld, not one of 0 .. %d; download or save it again",
                             path, piece, (long long)id, size - 1);
        }
        if (vocabulary->pieces[id]) {
            return clf__fail(CLF_FORMAT,
                             "%s: \"%s\" and \"%s\" have the same id %lld; download or save it again", path,
                             vocabulary->pieces[id], piece, (long long)id);
        }
        vocabulary->pieces[id] = piece;
    }
    return CLF_OK;
}

/* Copies the pieces out of the JSON and fills the hash table. */
static clf_status own_pieces(struct clf__vocabulary *vocabulary)
{
    size_t bytes = 0;
    for (int id = 0; id < vocabulary->size; id++) {
        bytes += strlen(vocabulary->pieces[id]) + 1;
    }
    CLF__TRY(clf__allocate(&vocabulary->text, bytes, 1));
    char *end = vocabulary->text;
    for (int id = 0; id < vocabulary->size; id++) {
        size_t length = strlen(vocabulary->pieces[id]) + 1;
        memcpy(end, vocabulary->pieces[id], length);
        vocabulary->pieces[id] = end;
        end += length;
    }
    vocabulary->slot_count = 1;
    while (vocabulary->slot_count < 2 * (uint32_t)vocabulary->size) {
        vocabulary->slot_count *= 2;
    }
    CLF__TRY(clf__allocate(&vocabulary->slots, vocabulary->slot_count, sizeof *vocabulary->slots));
    memset(vocabulary->slots, 0xFF, vocabulary->slot_count * sizeof *vocabulary->slots);
    for (int id = 0; id < vocabulary->size; id++) {
        insert(vocabulary, id);
    }
    return CLF_OK;
}

static clf_status fill(struct clf__vocabulary *vocabulary, const char *path)
{
    CLF__TRY(clf__copy_string(&vocabulary->path, path));
    struct clf__json json;
    struct clf__json_limits limits = {MAX_FILE_BYTES, CLF__MAX_VOCABULARY};
    if (vocabulary->size > 0) { /* one that is somewhat too large is told with both sizes */
        limits.values = 2 * (size_t)vocabulary->size + 65536;
    }
    CLF__TRY(clf__json_load(&json, path, limits));
    if (vocabulary->size == 0) {
        vocabulary->size = (int)json_object_size(json.root);
    }
    clf_status status = vocabulary->size > 0 ? CLF_OK : clf__fail(CLF_FORMAT, "%s: holds no piece", path);
    if (status == CLF_OK) {
        status = clf__allocate(&vocabulary->pieces, (size_t)vocabulary->size, sizeof *vocabulary->pieces);
    }
    if (status == CLF_OK) {
        status = place_pieces(vocabulary, json.root);
    }
    if (status == CLF_OK) {
        status = own_pieces(vocabulary);
    }
    clf__json_free(&json);
    return status;
}

clf_status clf__vocabulary_load(struct clf__vocabulary *out, const char *path, int size)
{
    *out = (struct clf__vocabulary){0};
    if (size < 0 || size > CLF__MAX_VOCABULARY) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: a vocabulary of %d pieces cannot be", path, size);
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

void clf__vocabulary_free(struct clf__vocabulary *vocabulary)
{
    clf__free(vocabulary->path);
    clf__free(vocabulary->text);
    clf__free(vocabulary->pieces);
    clf__free(vocabulary->slots);
    *vocabulary = (struct clf__vocabulary){0};
}
