/* safetensors files: the size of the header, the header (JSON), then the data. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/format.h"
#include "model/weights/quantized.h"

/* The reference implementation has the same limit. */
static const uint64_t max_header_bytes = 100000000;
/* MAX_VALUES: JSON values in a header, nine per tensor */
enum { MAX_VALUES = 1 << 20, LENGTH_BYTES = 8 };

static clf_status fail_tensor(const struct clf__stored_tensor *tensor, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: tensor \"%.200s\" %s; download or save the file again", tensor->file,
                     tensor->name, what);
}

/* Reads "shape" and counts the elements. */
static clf_status read_shape(struct clf__stored_tensor *tensor, const json_t *about, uint64_t *elements)
{
    const json_t *shape = json_object_get(about, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > CLF__TENSOR_DIMENSIONS) {
        return fail_tensor(tensor, "has no shape, or more than 8 dimensions");
    }
    tensor->dimensions = (int)json_array_size(shape);
    *elements = 1;
    for (int i = 0; i < tensor->dimensions; i++) {
        const json_t *value = json_array_get(shape, (size_t)i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) {
            return fail_tensor(tensor, "has a shape that is not a list of integers");
        }
        tensor->shape[i] = json_integer_value(value);
        if (tensor->shape[i] > 0 && *elements > (uint64_t)INT64_MAX / (uint64_t)tensor->shape[i]) {
            return fail_tensor(tensor, "has too many elements");
        }
        *elements *= (uint64_t)tensor->shape[i];
    }
    return CLF_OK;
}

/* Reads "dtype"; sets *bytes to the element size. */
static clf_status read_type(struct clf__stored_tensor *tensor, const json_t *about, uint64_t *bytes)
{
    const json_t *type = json_object_get(about, "dtype");
    if (!json_is_string(type)) {
        return fail_tensor(tensor, "has no dtype");
    }
    tensor->type_name = json_string_value(type);
    const struct clf__element_type *known = clf__element_type_find(tensor->type_name);
    if (known != NULL) {
        tensor->type = known->storage;
        *bytes = known->bytes;
        return CLF_OK;
    }
    return clf__fail(CLF_FORMAT,
                     "%s: tensor \"%.200s\" has the unknown dtype \"%.32s\"; download or save the file again",
                     tensor->file, tensor->name, tensor->type_name);
}

static clf_status read_offsets(struct clf__stored_tensor *tensor, const json_t *about, uint64_t data,
                               uint64_t data_size)
{
    const json_t *offsets = json_object_get(about, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last)) {
        return fail_tensor(tensor, "has no data_offsets with a begin and an end");
    }
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || (uint64_t)end > data_size) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensor \"%.200s\" is at bytes %lld to %lld of %llu; the file is truncated or "
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
                         "%s: the shape of tensor \"%.200s\" has %llu elements of type %s, but its data has "
                         "%zu bytes; download or save the file again",
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
    return (a->size > b->size) - (a->size < b->size); /* empty tensors first */
}

/* Rejects overlaps, gaps and trailing bytes, which the format does not allow. */
static clf_status check_coverage(struct clf__tensor_list *list, const struct clf__shard *shard, uint64_t data)
{
    struct clf__stored_tensor *tensors = list->items + shard->first;
    qsort(tensors, (size_t)shard->count, sizeof *tensors, by_offset);
    uint64_t next = data;
    for (int i = 0; i < shard->count; i++) {
        if (tensors[i].offset < next) {
            return fail_tensor(&tensors[i], "overlaps another tensor");
        }
        if (tensors[i].offset > next) {
            return fail_tensor(&tensors[i], "does not start at the end of the previous tensor");
        }
        next += tensors[i].size;
    }
    uint64_t rest = shard->file.size - next;
    if (rest > 0) {
        return clf__fail(CLF_FORMAT,
                         "%s: the last %llu bytes do not belong to a tensor; download or save the file again",
                         shard->path, (unsigned long long)rest);
    }
    return CLF_OK;
}

static clf_status parse_header(struct clf__shard *shard, uint64_t length)
{
    char *text = NULL;
    CLF__TRY(clf__allocate(&text, (size_t)length, 1));
    clf_status status = clf__file_read_at(&shard->file, LENGTH_BYTES, text, (size_t)length);
    if (status == CLF_OK) {
        struct clf__json_limits limits = {(size_t)length, MAX_VALUES};
        status = clf__json_parse_strict(&shard->header, text, (size_t)length, shard->path, limits);
    }
    clf__free(text);
    if (status == CLF_FORMAT) {
        return clf__fail(CLF_FORMAT, "%s (in the header); download or save the file again", clf_last_error());
    }
    CLF__TRY(status);
    if (!json_is_object(shard->header)) {
        return clf__fail(CLF_FORMAT, "%s: the header is not a JSON object; download or save the file again",
                         shard->path);
    }
    return CLF_OK;
}

clf_status clf__safetensors_open(struct clf__shard *shard, struct clf__tensor_list *list)
{
    uint8_t bytes[LENGTH_BYTES];
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    if (shard->file.size < LENGTH_BYTES) {
        return clf__fail(CLF_FORMAT,
                         "%s: %llu bytes are too few for a safetensors file; download or save the file again",
                         shard->path, (unsigned long long)shard->file.size);
    }
    CLF__TRY(clf__file_read_at(&shard->file, 0, bytes, sizeof bytes));
    uint64_t length = clf__read_64(bytes), rest = shard->file.size - LENGTH_BYTES;
    if (length > rest || length > max_header_bytes) {
        return clf__fail(CLF_FORMAT,
                         "%s: the header should have %llu bytes, but only %llu follow; the file is "
                         "truncated, damaged or not a safetensors file, download or save it again",
                         shard->path, (unsigned long long)length, (unsigned long long)rest);
    }
    CLF__TRY(parse_header(shard, length));
    uint64_t data = LENGTH_BYTES + length;
    shard->first = list->count;
    size_t most = (size_t)shard->first + json_object_size(shard->header);
    CLF__TRY(clf__resize(&list->items, most, sizeof *list->items));
    const char *name;
    json_t *about;
    json_object_foreach(shard->header, name, about)
    {
        if (strcmp(name, "__metadata__") == 0) {
            continue;
        }
        struct clf__stored_tensor *tensor = &list->items[list->count++];
        *tensor = (struct clf__stored_tensor){.name = name, .file = shard->path, .source = &shard->file};
        CLF__TRY(read_tensor(tensor, about, data, rest - length));
    }
    shard->count = list->count - shard->first;
    CLF__TRY(check_coverage(list, shard, data));
    CLF__TRY(clf__quantized_attach(list, shard->first, 1)); /* scales as written by `clformer convert` */
    shard->count = list->count - shard->first;
    return CLF_OK;
}
