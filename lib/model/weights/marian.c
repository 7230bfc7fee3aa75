#include "model/weights/marian.h"

#include <string.h>

#include "base/ascii.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "model/weights/marian_items.h"

static const char options_name[] = "special:model.yml";
enum { MOST_OPTIONS = 1 << 20, MOST_VALUES = 1 << 14 };

/* Element types of items. */
static const struct type {
    uint64_t code;
    const char *name; /* the type's name in safetensors, if it exists there */
    enum clf__storage storage;
    int bytes;
    int is_quantized; /* the values are followed by their scale and stored transposed, except for embeddings
                       */
} types[] = {
    {CLF__MARIAN_FLOAT16, "F16", CLF__STORED_F16, 2, 0},
    {CLF__MARIAN_FLOAT32, "F32", CLF__STORED_F32, 4, 0},
    {CLF__MARIAN_FLOAT64, "F64", CLF__STORED_F64, 8, 0},
    {CLF__MARIAN_FORK_INTGEMM8, "intgemm8", CLF__STORED_I8, 1, 1},
    {CLF__MARIAN_FORK_INTGEMM16, "intgemm16", CLF__STORED_I16, 2, 1},
    {CLF__MARIAN_INTGEMM8, "intgemm8", CLF__STORED_I8, 1, 1},
    {CLF__MARIAN_INTGEMM16, "intgemm16", CLF__STORED_I16, 2, 1},
};

static const struct type *find_type(uint64_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code == code) {
            return &types[i];
        }
    }
    return NULL;
}

static clf_status refuse_type(const struct clf__file *file, const struct clf__marian_item *item)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "%s: tensor \"%.200s\" has type 0x%llx, which is unknown or specific to one processor; "
                     "convert the model with --gemm-type float32 or intgemm8",
                     file->path, item->name, (unsigned long long)item->type);
}

/* Returns 1 for tensors to skip: the options, and activation scales, which only Marian's own kernels use. */
static int is_skipped(const char *name)
{
    return strcmp(name, options_name) == 0 || clf__ends_with(name, "_QuantMultA");
}

/* Returns 1 for embeddings, which have one row per word and are not transposed. */
static int is_embedding(const char *name)
{
    return strstr(name, "Wemb") != NULL || strcmp(name, "Wpos") == 0 || clf__ends_with(name, "_Wt");
}

/* Transposes the shape. Quantized values are stored transposed; other values get strides. */
static void transpose(struct clf__stored_tensor *tensor, int is_transposed)
{
    int64_t inputs = tensor->shape[0], outputs = tensor->shape[1];
    tensor->shape[0] = outputs;
    tensor->shape[1] = inputs;
    if (!is_transposed) {
        tensor->is_strided = 1;
        tensor->strides[0] = 1;
        tensor->strides[1] = outputs;
    }
}

static clf_status add_tensor(struct clf__stored_tensor *tensor, const struct clf__marian_item *item,
                             const struct clf__shard *shard)
{
    const struct type *type = find_type(item->type);
    if (type == NULL) {
        return refuse_type(&shard->file, item);
    }
    *tensor = (struct clf__stored_tensor){.name = item->name,
                                          .file = shard->path,
                                          .type_name = type->name,
                                          .type = type->storage,
                                          .dimensions = item->dimensions,
                                          .source = &shard->file,
                                          .offset = item->offset};
    uint64_t bytes = (uint64_t)type->bytes;
    for (int i = 0; i < item->dimensions; i++) {
        tensor->shape[i] = item->shape[i];
        bytes = item->shape[i] == 0                             ? UINT64_MAX
                : bytes > UINT64_MAX / (uint64_t)item->shape[i] ? UINT64_MAX
                                                                : bytes * (uint64_t)item->shape[i];
    }
    uint64_t scale_bytes = type->is_quantized ? sizeof(float) : 0;
    if (item->size < scale_bytes || bytes > item->size - scale_bytes) {
        return clf__fail(
            CLF_FORMAT,
            "%s: tensor \"%.200s\" has fewer bytes than its shape requires; download the file again",
            shard->path, item->name);
    }
    tensor->size = (size_t)bytes;
    if (scale_bytes > 0) {
        tensor->scales = (struct clf__stored_scales){.count = 1, .offset = item->offset + bytes};
    }
    int is_turned = item->dimensions == 2 && item->shape[0] > 1 && !is_embedding(item->name);
    if (scale_bytes > 0 && clf__ends_with(item->name, "_Wt")) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: tensor \"%.200s\" has an unsupported quantized layout; convert the model with "
                         "--gemm-type float32",
                         shard->path, item->name);
    }
    if (is_turned) {
        transpose(tensor, type->is_quantized);
    }
    return CLF_OK;
}

clf_status clf__marian_open(struct clf__shard *shard, struct clf__tensor_list *list)
{
    struct clf__marian_items items;
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    CLF__TRY(clf__marian_items_read(&items, &shard->file));
    shard->names = items.names;
    shard->first = list->count;
    clf_status status =
        clf__resize(&list->items, (size_t)list->count + (size_t)items.count, sizeof *list->items);
    for (int i = 0; i < items.count && status == CLF_OK; i++) {
        if (!is_skipped(items.items[i].name)) {
            status = add_tensor(&list->items[list->count++], &items.items[i], shard);
        }
    }
    shard->count = list->count - shard->first;
    items.names = NULL; /* now owned by the shard */
    clf__marian_items_free(&items);
    return status;
}

static clf_status read_options(json_t **out, const struct clf__file *file,
                               const struct clf__marian_items *items)
{
    const struct clf__marian_item *item = clf__marian_items_find(items, options_name);
    if (item == NULL || item->type != CLF__MARIAN_INT8) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: no options (%s) in the file, which was saved by a very old version of Marian; "
                         "save the model with a newer version",
                         file->path, options_name);
    }
    if (item->size > MOST_OPTIONS) {
        return clf__fail(CLF_FORMAT, "%s: %s has %llu bytes, too many for options; download the file again",
                         file->path, options_name, (unsigned long long)item->size);
    }
    char *text, *what = NULL;
    CLF__TRY(clf__allocate(&text, (size_t)item->size + 1, 1));
    clf_status status = clf__file_read_at(file, item->offset, text, (size_t)item->size);
    if (status == CLF_OK) {
        status = clf__format(&what, "%s (%s)", file->path, options_name);
    }
    if (status == CLF_OK) {
        status = clf__yaml_parse(out, text, strlen(text), what, MOST_VALUES);
    }
    clf__free(what);
    clf__free(text);
    return status;
}

clf_status clf__marian_options(json_t **out, const char *path)
{
    struct clf__file file = {0};
    struct clf__marian_items items = {0};
    *out = NULL;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = clf__marian_items_read(&items, &file);
    if (status == CLF_OK) {
        status = read_options(out, &file, &items);
    }
    clf__marian_items_free(&items);
    clf__file_close(&file);
    return status;
}

clf_status clf__marian_is_int8(int *out, const char *path)
{
    struct clf__file file = {0};
    struct clf__marian_items items = {0};
    *out = 0;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = clf__marian_items_read(&items, &file);
    for (int i = 0; i < items.count; i++) {
        const struct type *type = find_type(items.items[i].type);
        *out |= type != NULL && type->storage == CLF__STORED_I8 && !is_skipped(items.items[i].name);
    }
    clf__marian_items_free(&items);
    clf__file_close(&file);
    return status;
}

clf_status clf__marian_is_container(int *out, const char *path)
{
    struct clf__file file = {0};
    uint8_t head[16];
    *out = 0;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = CLF_OK;
    if (file.size >= sizeof head) {
        status = clf__file_read_at(&file, 0, head, sizeof head);
        uint64_t version = clf__read_64(head), count = clf__read_64(head + 8);
        *out = status == CLF_OK && (version == 1 || version == 2) && count < (uint64_t)1 << 32;
    }
    clf__file_close(&file);
    return status;
}
