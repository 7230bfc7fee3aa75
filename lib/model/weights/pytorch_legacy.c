#include "model/weights/pytorch_legacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"

enum { PROTOCOL_VERSION = 1001, COUNT_BYTES = 8 };

/* PROTO 2, LONG1 0x1950a86a20f9469cfc6c, STOP */
static const uint8_t magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

clf_status clf__legacy_check(int *out, const struct clf__file *file)
{
    uint8_t bytes[sizeof magic];
    *out = 0;
    if (file->size < sizeof bytes) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_read_at(file, 0, bytes, sizeof bytes));
    *out = memcmp(bytes, magic, sizeof magic) == 0;
    return CLF_OK;
}

/* Runs the next pickle. The caller frees *bytes after the machine's last use. */
static clf_status run_pickle(struct clf__legacy *legacy, struct clf__pickle_machine *machine, uint8_t **bytes)
{
    const struct clf__file *file = legacy->file;
    uint64_t left = file->size - legacy->at;
    size_t size = left < CLF__PICKLE_MOST ? (size_t)left : CLF__PICKLE_MOST;
    CLF__TRY(clf__allocate(bytes, size + 1, 1));
    CLF__TRY(clf__file_read_at(file, legacy->at, *bytes, size));
    *machine = (struct clf__pickle_machine){
        .path = file->path, .bytes = *bytes, .end = *bytes + size, .is_window = size < left};
    CLF__TRY(clf__pickle_run(machine));
    legacy->at += (uint64_t)(machine->bytes - *bytes);
    return CLF_OK;
}

static clf_status check_version(const struct clf__pickle_machine *machine)
{
    int64_t version;
    return clf__pickle_number(machine, machine->stack[0], &version) && version == PROTOCOL_VERSION
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED,
                           "%s: the version of the torch.save() format is not %d; load the file with torch "
                           "and save it as safetensors",
                           machine->path, (int)PROTOCOL_VERSION);
}

/* Checks the version and skips the system information, as torch does. */
static clf_status read_header(struct clf__legacy *legacy)
{
    clf_status status = CLF_OK;
    for (int i = 0; i < 2 && status == CLF_OK; i++) {
        struct clf__pickle_machine machine = {.path = NULL};
        uint8_t *bytes = NULL;
        status = run_pickle(legacy, &machine, &bytes);
        if (status == CLF_OK && i == 0) {
            status = check_version(&machine);
        }
        clf__pickle_free(&machine);
        clf__free(bytes);
    }
    return status;
}

static int compare_keys(const struct clf__pickled_text *a, const struct clf__pickled_text *b)
{
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int by_key(const void *left, const void *right)
{
    return compare_keys(&((const struct clf__legacy_storage *)left)->key,
                        &((const struct clf__legacy_storage *)right)->key);
}

static int by_key_and_order(const void *left, const void *right)
{
    const struct clf__legacy_storage *a = left, *b = right;
    int order = by_key(left, right);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static struct clf__legacy_storage *find(const struct clf__legacy *legacy, const struct clf__pickled_text *key)
{
    const struct clf__legacy_storage wanted = {.key = *key};
    return legacy->count > 0
               ? bsearch(&wanted, legacy->storages, (size_t)legacy->count, sizeof wanted, by_key)
               : NULL;
}

const struct clf__legacy_storage *clf__legacy_find(const struct clf__legacy *legacy,
                                                   const struct clf__pickled_text *key)
{
    const struct clf__legacy_storage *storage = find(legacy, key);
    return storage != NULL && storage->offset > 0 ? storage : NULL;
}

/* Lists each storage of the state dict once. As in torch, the first occurrence determines the type. */
static clf_status list_storages(struct clf__legacy *legacy)
{
    const struct clf__pickle_machine *machine = &legacy->machine;
    CLF__TRY(clf__allocate(&legacy->storages, (size_t)machine->node_count + 1, sizeof *legacy->storages));
    int count = 0;
    for (int i = 0; i < machine->node_count; i++) {
        const struct clf__pickle_node *node = &machine->nodes[i];
        if (node->kind == CLF__PICKLE_STORAGE) {
            legacy->storages[count++] = (struct clf__legacy_storage){.key = node->as.storage.key,
                                                                     .type = node->as.storage.type,
                                                                     .elements = node->as.storage.elements,
                                                                     .order = i};
        }
    }
    qsort(legacy->storages, (size_t)count, sizeof *legacy->storages, by_key_and_order);
    for (int i = 0; i < count; i++) {
        if (legacy->count == 0 || by_key(&legacy->storages[legacy->count - 1], &legacy->storages[i]) != 0) {
            legacy->storages[legacy->count++] = legacy->storages[i];
        }
    }
    return CLF_OK;
}

/* The search for a tensor that uses a storage. */
struct owner {
    const struct clf__legacy_storage *storage;
    struct clf__pickled_text name; /* empty until found */
};

static clf_status match_owner(void *user, const struct clf__pickled_tensor *tensor)
{
    struct owner *owner = user;
    if (owner->name.size == 0 && compare_keys(&tensor->storage, &owner->storage->key) == 0) {
        owner->name = tensor->name;
    }
    return CLF_OK;
}

static clf_status ignore_number(void *user, const struct clf__pickled_number *number)
{
    (void)user;
    (void)number;
    return CLF_OK;
}

/* Fails with the name of a tensor that uses the storage, or with the storage's key if there is none. */
static clf_status fail(struct clf__legacy *legacy, const struct clf__legacy_storage *storage,
                       const char *what)
{
    struct owner owner = {storage, {NULL, 0}};
    const struct clf__pickled_functions functions = {match_owner, ignore_number, &owner};
    (void)clf__pickle_give(&legacy->machine, &functions);
    const struct clf__pickled_text *name = owner.name.size > 0 ? &owner.name : &storage->key;
    return clf__fail(CLF_FORMAT, "%s: %s \"%.*s\" %s; download the file again", legacy->file->path,
                     owner.name.size > 0 ? "tensor" : "storage", (int)(name->size < 200 ? name->size : 200),
                     name->bytes, what);
}

/* Reads the element count of the storage at *at and advances *at to the next storage. */
static clf_status place_storage(struct clf__legacy *legacy, struct clf__legacy_storage *storage, uint64_t *at)
{
    uint8_t bytes[COUNT_BYTES];
    char what[128];
    uint64_t left = legacy->file->size - *at;
    if (storage->offset > 0) {
        return fail(legacy, storage, "has a storage that is listed twice");
    }
    if (left < COUNT_BYTES) {
        return fail(legacy, storage, "is missing because the file is truncated");
    }
    CLF__TRY(clf__file_read_at(legacy->file, *at, bytes, sizeof bytes));
    uint64_t count = clf__read_64(bytes), width = storage->type->bytes;
    if (count != (uint64_t)storage->elements) {
        snprintf(what, sizeof what, "has a storage of %llu elements, but the pickle declares %lld",
                 (unsigned long long)count, (long long)storage->elements);
        return fail(legacy, storage, what);
    }
    if (count > (left - COUNT_BYTES) / width) {
        snprintf(what, sizeof what,
                 "is truncated: the file contains %llu of the %llu elements of the storage",
                 (unsigned long long)((left - COUNT_BYTES) / width), (unsigned long long)count);
        return fail(legacy, storage, what);
    }
    storage->offset = *at + COUNT_BYTES;
    *at = storage->offset + count * width;
    return CLF_OK;
}

static clf_status place_storages(struct clf__legacy *legacy, const struct clf__pickle_machine *keys)
{
    const struct clf__pickle_node *list = &keys->nodes[keys->stack[0]];
    if (list->kind != CLF__PICKLE_SEQUENCE) {
        return clf__pickle_damaged(keys, "the storage keys are not a list");
    }
    uint64_t at = legacy->at;
    for (int cell = list->first; cell >= 0; cell = keys->cells[cell].next) {
        const struct clf__pickle_node *key = &keys->nodes[keys->cells[cell].node];
        struct clf__legacy_storage *storage =
            key->kind == CLF__PICKLE_TEXT ? find(legacy, &key->as.text) : NULL;
        if (storage == NULL) {
            return clf__pickle_damaged(keys, "a storage is listed that no tensor uses");
        }
        CLF__TRY(place_storage(legacy, storage, &at));
    }
    return CLF_OK;
}

static clf_status read_all(struct clf__legacy *legacy)
{
    struct clf__pickle_machine keys = {.path = NULL};
    uint8_t *bytes = NULL;
    CLF__TRY(read_header(legacy));
    CLF__TRY(run_pickle(legacy, &legacy->machine, &legacy->pickle));
    CLF__TRY(list_storages(legacy));
    clf_status status = run_pickle(legacy, &keys, &bytes);
    if (status == CLF_OK) {
        status = place_storages(legacy, &keys);
    }
    clf__pickle_free(&keys);
    clf__free(bytes);
    return status;
}

clf_status clf__legacy_open(struct clf__legacy *out, const struct clf__file *file)
{
    *out = (struct clf__legacy){.file = file, .at = sizeof magic};
    clf_status status = read_all(out);
    if (status != CLF_OK) {
        clf__legacy_close(out);
    }
    return status;
}

void clf__legacy_close(struct clf__legacy *legacy)
{
    clf__pickle_free(&legacy->machine);
    clf__free(legacy->pickle);
    clf__free(legacy->storages);
    *legacy = (struct clf__legacy){.file = NULL};
}
