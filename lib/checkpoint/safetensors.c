#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "checkpoint/little_endian.h"

/* A header larger than this is refused by the reference implementation too. */
static const uint64_t max_header_bytes = 100000000;
/* Values of a header or an index: a tensor has nine, so that there may be a hundred thousand. */
enum { MAX_INDEX_BYTES = 100000000, MAX_VALUES = 1 << 20, MAX_SHARDS = 512, LENGTH_BYTES = 8 };

struct shard {
    char *name; /* of the file inside the folder */
    char *path;
    struct clf__file file;
    json_t *header; /* owns the tensors' names */
    int first, count;
};

struct clf__checkpoint {
    char *path; /* of the file or the index */
    struct shard *shards;
    int shard_count;
    struct clf__stored_tensor *tensors; /* sorted by name when open */
    int count;
};

static const struct {
    const char *name;
    uint64_t bytes; /* of an element */
    enum clf__storage storage;
} types[] = {
    {"F64", 8, CLF__STORED_F64},       {"F32", 4, CLF__STORED_F32},      {"F16", 2, CLF__STORED_F16},
    {"BF16", 2, CLF__STORED_BF16},     {"C64", 8, CLF__STORED_OTHER},    {"I64", 8, CLF__STORED_OTHER},
    {"U64", 8, CLF__STORED_OTHER},     {"I32", 4, CLF__STORED_OTHER},    {"U32", 4, CLF__STORED_OTHER},
    {"I16", 2, CLF__STORED_OTHER},     {"U16", 2, CLF__STORED_OTHER},    {"I8", 1, CLF__STORED_OTHER},
    {"U8", 1, CLF__STORED_OTHER},      {"BOOL", 1, CLF__STORED_OTHER},   {"F8_E4M3", 1, CLF__STORED_OTHER},
    {"F8_E5M2", 1, CLF__STORED_OTHER}, {"F8_E8M0", 1, CLF__STORED_OTHER}};
enum { TYPE_COUNT = sizeof types / sizeof *types };

static clf_status fail_tensor(const struct clf__stored_tensor *tensor, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: tensor \"%.200s\" %s; download or save it again", tensor->file,
                     tensor->name, what);
}

/* Reads "shape" and counts the elements. */
static clf_status read_shape(struct clf__stored_tensor *tensor, const json_t *about, uint64_t *elements)
{
    const json_t *shape = json_object_get(about, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > CLF__TENSOR_DIMENSIONS) {
        return fail_tensor(tensor, "has no shape of at most 8 dimensions");
    }
    tensor->dimensions = (int)json_array_size(shape);
    *elements = 1;
    for (int i = 0; i < tensor->dimensions; i++) {
        const json_t *value = json_array_get(shape, (size_t)i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) {
            return fail_tensor(tensor, "has a shape that is not made of whole numbers");
        }
        tensor->shape[i] = json_integer_value(value);
        if (tensor->shape[i] > 0 && *elements > (uint64_t)INT64_MAX / (uint64_t)tensor->shape[i]) {
            return fail_tensor(tensor, "has a shape of too many elements");
        }
        *elements *= (uint64_t)tensor->shape[i];
    }
    return CLF_OK;
}

/* Reads "dtype"; *bytes is what an element takes. */
static clf_status read_type(struct clf__stored_tensor *tensor, const json_t *about, uint64_t *bytes)
{
    const json_t *type = json_object_get(about, "dtype");
    if (!json_is_string(type)) {
        return fail_tensor(tensor, "has no dtype");
    }
    tensor->type_name = json_string_value(type);
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, tensor->type_name) == 0) {
            tensor->type = types[i].storage;
            *bytes = types[i].bytes;
            return CLF_OK;
        }
    }
    return clf__fail(CLF_FORMAT,
                     "%s: tensor \"%.200s\" has the unknown dtype \"%.32s\"; download or save it again",
                     tensor->file, tensor->name, tensor->type_name);
}

static clf_status read_offsets(struct clf__stored_tensor *tensor, const json_t *about, uint64_t data,
                               uint64_t data_size)
{
    const json_t *offsets = json_object_get(about, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last)) {
        return fail_tensor(tensor, "has no pair of data_offsets");
    }
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > data_size) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensor \"%.200s\" lies at bytes %lld to %lld of %llu; the file is cut off or "
                         "damaged, download or save it again",
                         tensor->file, tensor->name, (long long)begin, (long long)end,
                         (unsigned long long)data_size);
    }
    tensor->offset = data + (uint64_t)begin;
    tensor->size = (size_t)(end - begin);
    return CLF_OK;
}

static clf_status read_tensor(struct clf__stored_tensor *tensor, const json_t *about, uint64_t data,
                              uint64_t data_size)
{
    uint64_t elements = 0, element_bytes = 1;
    CLF__TRY(read_shape(tensor, about, &elements));
    CLF__TRY(read_type(tensor, about, &element_bytes));
    CLF__TRY(read_offsets(tensor, about, data, data_size));
    if (tensor->size % element_bytes != 0 || tensor->size / element_bytes != elements) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensor \"%.200s\" has %llu elements of %s by its shape but %zu bytes; download "
                         "or save it again",
                         tensor->file, tensor->name, (unsigned long long)elements, tensor->type_name,
                         tensor->size);
    }
    return CLF_OK;
}

static int by_offset(const void *left, const void *right)
{
    const struct clf__stored_tensor *a = left, *b = right;
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return (a->size > b->size) - (a->size < b->size); /* empty ones first */
}

static int by_name(const void *left, const void *right)
{
    const struct clf__stored_tensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* The format has neither overlaps nor holes nor a tail. */
static clf_status check_coverage(struct clf__checkpoint *checkpoint, const struct shard *shard, uint64_t data)
{
    struct clf__stored_tensor *tensors = checkpoint->tensors + shard->first;
    qsort(tensors, (size_t)shard->count, sizeof *tensors, by_offset);
    uint64_t next = data;
    for (int i = 0; i < shard->count; i++) {
        if (tensors[i].offset < next) {
            return fail_tensor(&tensors[i], "overlaps another");
        }
        if (tensors[i].offset > next) {
            return fail_tensor(&tensors[i], "does not begin where the one before it ends");
        }
        next += tensors[i].size;
    }
    uint64_t rest = shard->file.size - next;
    if (rest > 0) {
        return clf__fail(CLF_FORMAT, "%s: the last %llu bytes belong to no tensor; download or save it again",
                         shard->path, (unsigned long long)rest);
    }
    return CLF_OK;
}

static clf_status parse_header(struct shard *shard, uint64_t length)
{
    char *text = NULL;
    CLF__TRY(clf__allocate(&text, (size_t)length, 1));
    clf_status status = clf__file_read_at(&shard->file, LENGTH_BYTES, text, (size_t)length);
    if (status == CLF_OK) {
        struct clf__json_limits limits = {(size_t)length, MAX_VALUES};
        status = clf__json_parse(&shard->header, text, (size_t)length, shard->path, limits);
    }
    clf__free(text);
    if (status == CLF_FORMAT) {
        return clf__fail(CLF_FORMAT, "%s (the header); download or save it again", clf_last_error());
    }
    CLF__TRY(status);
    if (!json_is_object(shard->header)) {
        return clf__fail(CLF_FORMAT, "%s: the header is not a JSON object; download or save it again",
                         shard->path);
    }
    return CLF_OK;
}

static clf_status open_shard(struct clf__checkpoint *checkpoint, struct shard *shard)
{
    uint8_t bytes[LENGTH_BYTES];
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    if (shard->file.size < LENGTH_BYTES) {
        return clf__fail(CLF_FORMAT,
                         "%s: has %llu bytes, too few for a safetensors file; download or save it again",
                         shard->path, (unsigned long long)shard->file.size);
    }
    CLF__TRY(clf__file_read_at(&shard->file, 0, bytes, sizeof bytes));
    uint64_t length = clf__read_64(bytes), rest = shard->file.size - LENGTH_BYTES;
    if (length > rest || length > max_header_bytes) {
        return clf__fail(CLF_FORMAT,
                         "%s: the header claims %llu bytes, %llu follow; the file is cut off, damaged or no "
                         "safetensors file, download or save it again",
                         shard->path, (unsigned long long)length, (unsigned long long)rest);
    }
    CLF__TRY(parse_header(shard, length));
    uint64_t data = LENGTH_BYTES + length;
    shard->first = checkpoint->count;
    size_t most = (size_t)shard->first + json_object_size(shard->header);
    CLF__TRY(clf__resize(&checkpoint->tensors, most, sizeof *checkpoint->tensors));
    const char *name;
    json_t *about;
    json_object_foreach(shard->header, name, about)
    {
        if (strcmp(name, "__metadata__") == 0) {
            continue;
        }
        struct clf__stored_tensor *tensor = &checkpoint->tensors[checkpoint->count++];
        *tensor = (struct clf__stored_tensor){.name = name, .file = shard->path, .source = &shard->file};
        CLF__TRY(read_tensor(tensor, about, data, rest - length));
    }
    shard->count = checkpoint->count - shard->first;
    return check_coverage(checkpoint, shard, data);
}

static clf_status add_shard(struct clf__checkpoint *checkpoint, const char *folder, const char *name)
{
    for (int i = 0; i < checkpoint->shard_count; i++) {
        if (strcmp(checkpoint->shards[i].name, name) == 0) {
            return CLF_OK;
        }
    }
    if (checkpoint->shard_count == MAX_SHARDS) {
        return clf__fail(CLF_FORMAT, "%s: names more than %d files; download or save it again",
                         checkpoint->path, MAX_SHARDS);
    }
    size_t count = (size_t)checkpoint->shard_count + 1;
    CLF__TRY(clf__resize(&checkpoint->shards, count, sizeof *checkpoint->shards));
    struct shard *shard = &checkpoint->shards[checkpoint->shard_count++];
    *shard = (struct shard){0};
    CLF__TRY(clf__copy_string(&shard->name, name));
    return clf__path_join(&shard->path, folder, name);
}

static clf_status sort_tensors(struct clf__checkpoint *checkpoint)
{
    struct clf__stored_tensor *tensors = checkpoint->tensors;
    qsort(tensors, (size_t)checkpoint->count, sizeof *tensors, by_name);
    for (int i = 1; i < checkpoint->count; i++) {
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0) {
            return clf__fail(CLF_FORMAT, "%s: tensor \"%.200s\" is in %s too; download or save both again",
                             tensors[i].file, tensors[i].name, tensors[i - 1].file);
        }
    }
    return CLF_OK;
}

static clf_status open_single(struct clf__checkpoint *checkpoint, const char *folder, const char *name)
{
    CLF__TRY(add_shard(checkpoint, folder, name));
    CLF__TRY(open_shard(checkpoint, &checkpoint->shards[0]));
    return sort_tensors(checkpoint);
}

/* A shard lies in the folder itself. */
static int is_plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static clf_status check_index(const struct clf__checkpoint *checkpoint, const json_t *weight_map)
{
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)weight_map, name, file)
    {
        const struct clf__stored_tensor *tensor = clf__checkpoint_find(checkpoint, name);
        const char *found = tensor ? strrchr(tensor->file, '/') : NULL;
        if (!found || strcmp(found + 1, json_string_value(file)) != 0) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" is not in %.200s; download or save both again",
                             checkpoint->path, name, json_string_value(file));
        }
    }
    for (int i = 0; i < checkpoint->count; i++) {
        if (!json_object_get(weight_map, checkpoint->tensors[i].name)) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" of %s is missing from it; download or save both again",
                             checkpoint->path, checkpoint->tensors[i].name, checkpoint->tensors[i].file);
        }
    }
    return CLF_OK;
}

static clf_status open_indexed(struct clf__checkpoint *checkpoint, const char *folder,
                               const struct clf__json *index)
{
    const json_t *weight_map = json_object_get(index->root, "weight_map");
    if (!json_is_object(weight_map) || json_object_size(weight_map) == 0) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"weight_map\" is no object with tensors; download or save it again",
                         index->path);
    }
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)weight_map, name, file)
    {
        if (!json_is_string(file) || !is_plain_name(json_string_value(file))) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" is not mapped to a file name inside the folder; download "
                             "or save it again",
                             index->path, name);
        }
        CLF__TRY(add_shard(checkpoint, folder, json_string_value(file)));
    }
    for (int i = 0; i < checkpoint->shard_count; i++) {
        clf_status status = open_shard(checkpoint, &checkpoint->shards[i]);
        if (status == CLF_FILE) {
            return clf__fail(status, "%s names a shard: %s%s", index->path, clf_last_error(),
                             clf__file_is_missing(checkpoint->shards[i].path) ? "; download or save it again"
                                                                              : "");
        }
        CLF__TRY(status);
    }
    CLF__TRY(sort_tensors(checkpoint));
    return check_index(checkpoint, weight_map);
}

/* A folder without weights that we read; many on the Hub have PyTorch's own file alone. */
static clf_status fail_missing(const struct clf__checkpoint *checkpoint, const char *folder)
{
    int has_pickle;
    CLF__TRY(clf__file_exists_in(&has_pickle, folder, "pytorch_model.bin"));
    return clf__fail(CLF_FILE, "%s: no such file, and no model.safetensors.index.json beside it; %s",
                     checkpoint->path,
                     has_pickle ? "convert pytorch_model.bin with transformers' save_pretrained()"
                                : "download it, or save the model again");
}

/* name NULL: the weights of a model folder, in one file or several. */
static clf_status open_folder(struct clf__checkpoint *checkpoint, const char *folder, const char *name)
{
    if (name) {
        CLF__TRY(clf__path_join(&checkpoint->path, folder, name));
        return open_single(checkpoint, folder, name);
    }
    int is_single, is_indexed;
    CLF__TRY(clf__path_join(&checkpoint->path, folder, "model.safetensors"));
    CLF__TRY(clf__file_find(&is_single, folder, "model.safetensors"));
    if (is_single) {
        return open_single(checkpoint, folder, "model.safetensors");
    }
    CLF__TRY(clf__file_find(&is_indexed, folder, "model.safetensors.index.json"));
    if (!is_indexed) {
        return fail_missing(checkpoint, folder);
    }
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, "model.safetensors.index.json"));
    clf__free(checkpoint->path);
    checkpoint->path = path;
    struct clf__json index;
    struct clf__json_limits limits = {MAX_INDEX_BYTES, MAX_VALUES};
    CLF__TRY(clf__json_load(&index, path, limits));
    clf_status status = open_indexed(checkpoint, folder, &index);
    clf__json_free(&index);
    return status;
}

clf_status clf__checkpoint_open(struct clf__checkpoint **out, const char *folder)
{
    return clf__checkpoint_open_file(out, folder, NULL);
}

clf_status clf__checkpoint_open_file(struct clf__checkpoint **out, const char *folder, const char *name)
{
    *out = NULL;
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf_status status = open_folder(*out, folder, name);
    if (status != CLF_OK) {
        clf__checkpoint_close(*out);
        *out = NULL;
    }
    return status;
}

void clf__checkpoint_close(struct clf__checkpoint *checkpoint)
{
    if (!checkpoint) {
        return;
    }
    for (int i = 0; i < checkpoint->shard_count; i++) {
        struct shard *shard = &checkpoint->shards[i];
        json_decref(shard->header);
        clf__file_close(&shard->file);
        clf__free(shard->path);
        clf__free(shard->name);
    }
    clf__free(checkpoint->shards);
    clf__free(checkpoint->tensors);
    clf__free(checkpoint->path);
    clf__free(checkpoint);
}

const struct clf__stored_tensor *clf__checkpoint_find(const struct clf__checkpoint *checkpoint,
                                                      const char *name)
{
    struct clf__stored_tensor wanted = {.name = name};
    return bsearch(&wanted, checkpoint->tensors, (size_t)checkpoint->count, sizeof wanted, by_name);
}

int clf__checkpoint_count(const struct clf__checkpoint *checkpoint)
{
    return checkpoint->count;
}

const struct clf__stored_tensor *clf__checkpoint_at(const struct clf__checkpoint *checkpoint, int index)
{
    return index >= 0 && index < checkpoint->count ? &checkpoint->tensors[index] : NULL;
}

const char *clf__checkpoint_path(const struct clf__checkpoint *checkpoint)
{
    return checkpoint->path;
}
