/* torch.save() files: a zip archive of a pickle, which describes the tensors, and one file per storage; or
 * the format before torch 1.6 (model/weights/pytorch_legacy.h). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "model/weights/format.h"
#include "model/weights/pickle.h"
#include "model/weights/pytorch_legacy.h"
#include "model/weights/zip.h"

enum {
    MAX_NAME = 1024,
    MAX_TOP = 256,
    MAX_PATH = MAX_TOP + 64,
    MAX_NAMES = 1 << 26,
    MAX_TENSORS = 1 << 17,
    MAX_KEY = 32
};

/* The state of opening a file in either format. */
struct opening {
    struct clf__shard *shard;
    struct clf__tensor_list *list;
    int is_legacy;
    struct clf__legacy legacy;
    struct clf__zip zip;
    char top[MAX_TOP]; /* name of the archive's top-level folder, with a slash */
    size_t name_bytes, name_capacity;
    int capacity;
};

static clf_status damaged(const struct opening *opening, const char *name, size_t length, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: tensor \"%.*s\" %s; download the file again", opening->shard->path,
                     (int)(length < 200 ? length : 200), name, what);
}

/* Returns the storage index of the last element of a non-empty tensor, or the size of the storage if an
 * element is outside. */
static int64_t find_last(const struct clf__pickled_tensor *tensor)
{
    int64_t last = tensor->offset, room = tensor->storage_elements;
    for (int i = 0; i < tensor->dimensions; i++) {
        int64_t steps = tensor->shape[i] - 1;
        if (steps > 0 && tensor->strides[i] > (room - last) / steps) {
            return room;
        }
        last += steps * tensor->strides[i];
    }
    return last;
}

/* Sets shape, strides and size of `out`. */
static clf_status measure(struct clf__stored_tensor *out, const struct opening *opening,
                          const struct clf__pickled_tensor *tensor)
{
    int64_t elements = 1, contiguous = 1;
    out->dimensions = tensor->dimensions;
    for (int i = 0; i < tensor->dimensions; i++) {
        int64_t size = tensor->shape[i];
        if (size > 0 && elements > INT64_MAX / size) {
            return damaged(opening, tensor->name.bytes, tensor->name.size, "has too many elements");
        }
        elements *= size;
        out->shape[i] = size;
        out->strides[i] = tensor->strides[i];
    }
    if (elements > tensor->storage_elements ||
        (elements > 0 && find_last(tensor) >= tensor->storage_elements)) {
        return damaged(opening, tensor->name.bytes, tensor->name.size, "is outside its storage");
    }
    for (int i = tensor->dimensions - 1; i >= 0 && elements > 0; i--) {
        out->is_strided |= tensor->shape[i] > 1 && tensor->strides[i] != contiguous;
        contiguous *= tensor->shape[i];
    }
    out->size = (size_t)elements * tensor->type->bytes;
    return CLF_OK;
}

static const struct clf__zip_entry *find_entry(const struct opening *opening, const char *name)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s%s", opening->top, name);
    return clf__zip_find(&opening->zip, path);
}

/* Finds the bytes of a storage in the file; returns 0 if the file does not contain the storage. */
static int locate_storage(const struct opening *opening, const struct clf__pickled_text *key,
                          uint64_t *offset, uint64_t *size)
{
    if (opening->is_legacy) {
        const struct clf__legacy_storage *storage = clf__legacy_find(&opening->legacy, key);
        *offset = storage != NULL ? storage->offset : 0;
        *size = storage != NULL ? (uint64_t)storage->elements * storage->type->bytes : 0;
        return storage != NULL;
    }
    char name[64];
    int is_short = key->size < 32 && memchr(key->bytes, '\0', key->size) == NULL;
    snprintf(name, sizeof name, "data/%.*s", is_short ? (int)key->size : 0, key->bytes);
    const struct clf__zip_entry *entry = is_short ? find_entry(opening, name) : NULL;
    *offset = entry != NULL ? entry->offset : 0;
    *size = entry != NULL ? entry->size : 0;
    return entry != NULL;
}

static clf_status find_storage(struct clf__stored_tensor *out, const struct opening *opening,
                               const struct clf__pickled_tensor *tensor)
{
    uint64_t offset, size, bytes = tensor->type->bytes;
    if (!locate_storage(opening, &tensor->storage, &offset, &size) ||
        (uint64_t)tensor->storage_elements > size / bytes) {
        return damaged(opening, tensor->name.bytes, tensor->name.size, "has no storage of the required size");
    }
    if (tensor->offset > tensor->storage_elements) {
        return damaged(opening, tensor->name.bytes, tensor->name.size, "is outside its storage");
    }
    out->offset = offset + (uint64_t)tensor->offset * bytes;
    return CLF_OK;
}

/* Appends a name to shard->names, which may move as it grows; clf__pytorch_open() sets the pointers of the
 * tensors at the end. */
static clf_status keep_name(struct clf__stored_tensor *out, struct opening *opening,
                            const struct clf__pickled_text *name)
{
    struct clf__shard *shard = opening->shard;
    if (name->size > MAX_NAME || memchr(name->bytes, '\0', name->size) != NULL ||
        clf__utf8_valid_prefix(name->bytes, name->size) != name->size) {
        return damaged(opening, name->bytes, name->size,
                       "has a name that is not UTF-8 text of at most 1,024 bytes");
    }
    size_t wanted = opening->name_bytes + name->size + 1;
    if (wanted > MAX_NAMES) {
        return damaged(opening, name->bytes, name->size, "exceeds the limit on names");
    }
    CLF__TRY(clf__grow_to(&shard->names, wanted, &opening->name_capacity, 1));
    memcpy(shard->names + opening->name_bytes, name->bytes, name->size);
    shard->names[wanted - 1] = '\0';
    out->name = NULL;
    opening->name_bytes = wanted;
    return CLF_OK;
}

static clf_status add_tensor(void *user, const struct clf__pickled_tensor *tensor)
{
    struct opening *opening = user;
    struct clf__tensor_list *list = opening->list;
    struct clf__stored_tensor stored = {.file = opening->shard->path,
                                        .type_name = tensor->type->name,
                                        .type = tensor->type->storage,
                                        .source = &opening->shard->file};
    if (list->count - opening->shard->first >= MAX_TENSORS) {
        return damaged(opening, tensor->name.bytes, tensor->name.size, "exceeds the limit on tensors");
    }
    CLF__TRY(keep_name(&stored, opening, &tensor->name));
    CLF__TRY(find_storage(&stored, opening, tensor));
    CLF__TRY(measure(&stored, opening, tensor));
    CLF__TRY(clf__grow(&list->items, list->count, &opening->capacity, sizeof *list->items));
    list->items[list->count++] = stored;
    return CLF_OK;
}

/* Adds a number that OpenAI stores next to the state dict to the metadata, as in a safetensors file. */
static clf_status keep_number(void *user, const struct clf__pickled_number *number)
{
    const struct opening *opening = user;
    const char *dict = CLF__DIMS_KEY;
    char key[sizeof CLF__DIMS_KEY + MAX_KEY], value[24];
    if (number->dict.size + 1 != strlen(dict) || memcmp(number->dict.bytes, dict, number->dict.size) != 0 ||
        number->name.size > MAX_KEY) {
        return CLF_OK;
    }
    snprintf(key, sizeof key, "%s%.*s", dict, (int)number->name.size, number->name.bytes);
    snprintf(value, sizeof value, "%lld", (long long)number->value);
    return json_object_set_new(json_object_get(opening->shard->header, CLF__METADATA_KEY), key,
                               json_string(value)) == 0
               ? CLF_OK
               : clf__fail(CLF_FORMAT,
                           "%s: \"dims\" contains an entry that is not a name with a number; download the "
                           "file again",
                           opening->shard->path);
}

/* Finds the archive's top-level folder, whose name is arbitrary. */
static clf_status find_top(struct opening *opening)
{
    static const char pickle[] = "data.pkl";
    int found = 0;
    for (int i = 0; i < opening->zip.count; i++) {
        const char *name = opening->zip.entries[i].name, *stroke = strchr(name, '/');
        if (stroke != NULL && strcmp(stroke + 1, pickle) == 0 && (size_t)(stroke - name) < MAX_TOP - 1) {
            memcpy(opening->top, name, (size_t)(stroke - name) + 1);
            found++;
        }
    }
    return found == 1 ? CLF_OK
                      : clf__fail(CLF_FORMAT,
                                  "%s: the zip archive contains %s data.pkl, so it is not a torch.save() "
                                  "file; download the file again",
                                  opening->shard->path, found == 0 ? "no" : "more than one");
}

static clf_status check_byte_order(const struct opening *opening)
{
    char word[8] = "little";
    const struct clf__zip_entry *entry = find_entry(opening, "byteorder");
    if (entry != NULL) {
        memset(word, 0, sizeof word);
        CLF__TRY(clf__file_read_at(&opening->shard->file, entry->offset, word,
                                   entry->size < sizeof word ? (size_t)entry->size : sizeof word - 1));
    }
    return strcmp(word, "little") == 0 ? CLF_OK
                                       : clf__fail(CLF_UNSUPPORTED,
                                                   "%s: the numbers are not little-endian; load the file "
                                                   "with torch and save it as safetensors",
                                                   opening->shard->path);
}

static clf_status read_pickle(struct opening *opening)
{
    const struct clf__zip_entry *entry = find_entry(opening, "data.pkl");
    const char *path = opening->shard->path;
    if (entry->size > CLF__PICKLE_MOST) {
        return clf__fail(CLF_FORMAT,
                         "%s: the pickle has %llu bytes, more than %d; load the file with torch and save it "
                         "as safetensors",
                         path, (unsigned long long)entry->size, (int)CLF__PICKLE_MOST);
    }
    uint8_t *bytes = NULL;
    CLF__TRY(clf__allocate(&bytes, (size_t)entry->size, 1));
    clf_status status = clf__file_read_at(&opening->shard->file, entry->offset, bytes, (size_t)entry->size);
    if (status == CLF_OK) {
        const struct clf__pickled_functions functions = {add_tensor, keep_number, opening};
        status = clf__pickle_read(bytes, (size_t)entry->size, path, &functions);
    }
    clf__free(bytes);
    return status;
}

static clf_status read_archive(struct opening *opening)
{
    CLF__TRY(find_top(opening));
    CLF__TRY(check_byte_order(opening));
    return read_pickle(opening);
}

static clf_status read_legacy(struct opening *opening)
{
    const struct clf__pickled_functions functions = {add_tensor, keep_number, opening};
    CLF__TRY(clf__legacy_open(&opening->legacy, &opening->shard->file));
    clf_status status = clf__pickle_give(&opening->legacy.machine, &functions);
    clf__legacy_close(&opening->legacy);
    return status;
}

static clf_status read_either(struct opening *opening)
{
    struct clf__shard *shard = opening->shard;
    CLF__TRY(clf__legacy_check(&opening->is_legacy, &shard->file));
    if (!opening->is_legacy) {
        CLF__TRY(clf__zip_open(&opening->zip, &shard->file));
    }
    shard->header = json_pack("{s{}}", CLF__METADATA_KEY);
    if (shard->header == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to read %s", shard->path);
    }
    return opening->is_legacy ? read_legacy(opening) : read_archive(opening);
}

clf_status clf__pytorch_open(struct clf__shard *shard, struct clf__tensor_list *list)
{
    struct opening opening = {.shard = shard, .list = list, .capacity = list->count};
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    shard->first = list->count;
    clf_status status = read_either(&opening);
    clf__zip_close(&opening.zip);
    CLF__TRY(status);
    shard->count = list->count - shard->first;
    const char *name = shard->names;
    for (int i = shard->first; i < list->count; i++) {
        list->items[i].name = name;
        name += strlen(name) + 1;
    }
    return CLF_OK;
}
