/* CTranslate2's model.bin: unaligned variables followed by aliases (see models/model.cc and
 * specs/model_spec.py in CTranslate2). */
#include <string.h>

#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/format.h"
#include "model/weights/quantized.h"

enum { LATEST_VERSION = 6, MAX_VARIABLES = 1 << 15 };

/* Version 1 files contain no int16 scales; all int16 weights have this scale. */
static const float old_int16_scale = 1000.0f;

/* Element types, indexed by their code in the file (version 4 and later). */
static const char *const types[] = {"F32", "I8", "I16", "I32", "F16", "BF16"};

struct reader {
    struct clf__shard *shard;
    struct clf__tensor_list *list;
    uint64_t at;  /* current offset in the file */
    int capacity; /* capacity of the list of tensors */
};

static clf_status damaged(const struct reader *reader, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: %s near byte %llu; download the file or convert the model again",
                     reader->shard->path, what, (unsigned long long)reader->at);
}

static clf_status read_bytes(struct reader *reader, void *target, size_t size)
{
    if (size > reader->shard->file.size - reader->at) {
        return damaged(reader, "the list of variables is truncated");
    }
    CLF__TRY(clf__file_read_at(&reader->shard->file, reader->at, target, size));
    reader->at += size;
    return CLF_OK;
}

/* Reads a number of 1, 2 or 4 bytes. */
static clf_status read_number(struct reader *reader, size_t size, uint32_t *out)
{
    uint8_t bytes[4] = {0};
    CLF__TRY(read_bytes(reader, bytes, size));
    *out = clf__read_32(bytes);
    return CLF_OK;
}

/* Reads a name, which the shard owns. */
static clf_status read_name(struct reader *reader, const char **out)
{
    char name[1 << 16];
    uint32_t length;
    CLF__TRY(read_number(reader, 2, &length));
    CLF__TRY(read_bytes(reader, name, length));
    if (length == 0 || memchr(name, '\0', length) != name + length - 1) {
        return damaged(reader, "the length of a name is invalid");
    }
    struct clf__names *names = &reader->shard->name_list;
    CLF__TRY(clf__names_add(names, name));
    *out = names->items[names->count - 1];
    return CLF_OK;
}

static clf_status read_specification(struct reader *reader)
{
    struct clf__shard *shard = reader->shard;
    uint32_t version, revision = 1;
    CLF__TRY(read_number(reader, 4, &version));
    if (version < 1 || version > LATEST_VERSION) {
        return clf__fail(version == 0 || version > 1000 ? CLF_FORMAT : CLF_UNSUPPORTED,
                         "%s: format version %u is not supported, only 1 to %d; download the file again, or "
                         "convert the model with a supported release of CTranslate2",
                         shard->path, version, LATEST_VERSION);
    }
    shard->specification = (struct clf__specification){.name = "", .version = (int)version};
    if (version >= 2) {
        CLF__TRY(read_name(reader, &shard->specification.name));
        CLF__TRY(read_number(reader, 4, &revision));
    }
    shard->specification.revision = revision < 1000 ? (int)revision : 1000;
    return CLF_OK;
}

static clf_status read_shape(struct reader *reader, struct clf__stored_tensor *tensor, uint64_t *elements)
{
    uint32_t rank, extent;
    CLF__TRY(read_number(reader, 1, &rank));
    if (rank > CLF__TENSOR_DIMENSIONS) {
        return damaged(reader, "a variable has more than 8 dimensions");
    }
    tensor->dimensions = (int)rank;
    *elements = 1;
    for (uint32_t i = 0; i < rank; i++) {
        CLF__TRY(read_number(reader, 4, &extent));
        tensor->shape[i] = extent;
        if (__builtin_mul_overflow(*elements, (uint64_t)extent, elements)) {
            return damaged(reader, "the shape of a variable exceeds any possible file");
        }
    }
    return CLF_OK;
}

/* Reads the type and the size. Before version 4, the file stores only the element size, which determines the
 * type. */
static clf_status read_type(struct reader *reader, struct clf__stored_tensor *tensor, uint64_t elements)
{
    static const char *const by_width[] = {NULL, "I8", "I16", NULL, "F32"};
    uint32_t code, size;
    CLF__TRY(read_number(reader, 1, &code));
    CLF__TRY(read_number(reader, 4, &size));
    const char *name = NULL;
    if (reader->shard->specification.version >= 4) {
        name = code < sizeof types / sizeof *types ? types[code] : NULL;
    } else {
        name = code < sizeof by_width / sizeof *by_width ? by_width[code] : NULL;
    }
    if (name == NULL) {
        return damaged(reader, "the element type of a variable is unknown");
    }
    const struct clf__element_type *type = clf__element_type_find(name);
    tensor->type_name = type->name;
    tensor->type = type->storage;
    uint64_t bytes = reader->shard->specification.version >= 4 ? size : size * type->bytes;
    if (bytes / type->bytes != elements || bytes % type->bytes != 0) {
        return damaged(reader, "the size and shape of a variable disagree");
    }
    tensor->size = (size_t)bytes;
    tensor->offset = reader->at;
    if (bytes > reader->shard->file.size - reader->at) {
        return damaged(reader, "the values of a variable are truncated");
    }
    reader->at += bytes;
    return CLF_OK;
}

static clf_status add(struct reader *reader, const struct clf__stored_tensor *tensor)
{
    struct clf__tensor_list *list = reader->list;
    CLF__TRY(clf__grow(&list->items, list->count, &reader->capacity, sizeof *list->items));
    list->items[list->count++] = *tensor;
    return CLF_OK;
}

static clf_status read_count(struct reader *reader, uint32_t *count)
{
    CLF__TRY(read_number(reader, 4, count));
    return *count <= MAX_VARIABLES ? CLF_OK : damaged(reader, "more than 32,768 variables are declared");
}

static clf_status read_variables(struct reader *reader)
{
    uint32_t count;
    CLF__TRY(read_count(reader, &count));
    for (uint32_t i = 0; i < count; i++) {
        struct clf__stored_tensor tensor = {.file = reader->shard->path, .source = &reader->shard->file};
        uint64_t elements = 0;
        CLF__TRY(read_name(reader, &tensor.name));
        CLF__TRY(read_shape(reader, &tensor, &elements));
        CLF__TRY(read_type(reader, &tensor, elements));
        CLF__TRY(add(reader, &tensor));
    }
    return CLF_OK;
}

/* Checks that integer weights have scales, except int16 weights of version 1. */
static clf_status check_scales(const struct reader *reader)
{
    for (int i = reader->shard->first; i < reader->list->count; i++) {
        struct clf__stored_tensor *tensor = &reader->list->items[i];
        int is_int16 = tensor->type == CLF__STORED_I16 && tensor->dimensions > 1;
        if (is_int16 && reader->shard->specification.version < 2) {
            tensor->scales = (struct clf__stored_scales){.count = 1, .value = old_int16_scale};
        } else if (tensor->dimensions > 1 && !clf__stored_tensor_is_real(tensor)) {
            return clf__fail(CLF_FORMAT,
                             "%s: variable \"%.200s\" is quantized but has no scales; download the file or "
                             "convert the model again",
                             tensor->file, tensor->name);
        }
    }
    return CLF_OK;
}

/* Reads the aliases of variables. An alias of a variable with scales also gets an alias of the scales. */
static clf_status read_aliases(struct reader *reader)
{
    int variables = reader->list->count - reader->shard->first;
    uint32_t count;
    CLF__TRY(read_count(reader, &count));
    for (uint32_t i = 0; i < count; i++) {
        const char *alias, *name;
        CLF__TRY(read_name(reader, &alias));
        CLF__TRY(read_name(reader, &name));
        const struct clf__stored_tensor *first =
            variables > 0 ? reader->list->items + reader->shard->first : NULL;
        const struct clf__stored_tensor *variable = clf__quantized_find(first, variables, name);
        if (variable == NULL) {
            return clf__fail(
                CLF_FORMAT,
                "%s: alias \"%.200s\" refers to \"%.200s\", which does not exist; download the file again",
                reader->shard->path, alias, name);
        }
        struct clf__stored_tensor tensor = *variable;
        tensor.name = alias;
        CLF__TRY(add(reader, &tensor));
    }
    return CLF_OK;
}

clf_status clf__ctranslate2_open(struct clf__shard *shard, struct clf__tensor_list *list)
{
    struct reader reader = {.shard = shard, .list = list, .capacity = list->count};
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    shard->first = list->count;
    CLF__TRY(read_specification(&reader));
    CLF__TRY(read_variables(&reader));
    CLF__TRY(clf__quantized_attach(list, shard->first, 0));
    CLF__TRY(check_scales(&reader));
    if (shard->specification.version >= 3) {
        CLF__TRY(read_aliases(&reader));
    }
    shard->count = list->count - shard->first;
    return reader.at == shard->file.size ? CLF_OK : damaged(&reader, "data follows the variables");
}
