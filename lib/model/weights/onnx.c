/* ONNX files: protocol buffers (onnx/onnx.proto). Only weights are read, not the network: the floating-point
 * initializers and constants of the graph and of the graphs inside its nodes. */
#include <string.h>

#include "base/memory.h"
#include "model/weights/format.h"

/* MAX_DEPTH: graphs inside graphs */
enum { MAX_DEPTH = 16, MAX_NAME = 1024 };
static const uint64_t max_bytes = 1U << 31; /* protocol buffers have the same limit */

/* Field numbers of onnx.proto. */
enum {
    MODEL_GRAPH = 7,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    NODE_OUTPUT = 2,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_GRAPH = 6,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_LOCATION = 14,
};

enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 }; /* wire types */

struct reader {
    struct clf__shard *shard;
    struct clf__tensor_list *list;
    int capacity;        /* capacity of the list of tensors */
    const uint8_t *file; /* the whole file */
};

/* Unread bytes of the file. */
struct part {
    const uint8_t *at, *end;
};

struct field {
    uint64_t number, value; /* value if wire is VARINT; 0 for fixed-size numbers */
    int wire;
    struct part bytes; /* if wire is BYTES */
};

static clf_status damaged(const struct reader *reader, const struct part *part, const char *what)
{
    return clf__fail(CLF_FORMAT, "%s: %s near byte %llu; download or save the file again",
                     reader->shard->path, what, (unsigned long long)(part->at - reader->file));
}

static clf_status read_varint(uint64_t *out, const struct reader *reader, struct part *part)
{
    enum { BITS = 7, MOST_BYTES = 10, MORE = 0x80 };
    *out = 0;
    for (int i = 0; i < MOST_BYTES && part->at < part->end; i++) {
        uint8_t byte = *part->at++;
        *out |= (uint64_t)(byte & (MORE - 1)) << (BITS * i);
        if (!(byte & MORE)) {
            return CLF_OK;
        }
    }
    return damaged(reader, part, "not an ONNX file, or a number is truncated");
}

/* Reads the next field of a message that is not exhausted. */
static clf_status read_field(struct field *out, const struct reader *reader, struct part *part)
{
    uint64_t key, size = 0;
    CLF__TRY(read_varint(&key, reader, part));
    *out = (struct field){.number = key >> 3, .wire = (int)(key & 7)};
    switch (out->wire) {
    case VARINT:
        return read_varint(&out->value, reader, part);
    case FIXED_64:
    case FIXED_32:
        size = out->wire == FIXED_64 ? sizeof(uint64_t) : sizeof(uint32_t);
        break;
    case BYTES:
        CLF__TRY(read_varint(&size, reader, part));
        break;
    default:
        return damaged(reader, part, "not an ONNX file, or a field has an unknown type");
    }
    if (size > (uint64_t)(part->end - part->at)) {
        return damaged(reader, part, "not an ONNX file, or a field is truncated");
    }
    out->bytes = (struct part){part->at, part->at + size};
    part->at += size;
    return CLF_OK;
}

static clf_status add_dimension(const struct reader *reader, struct clf__stored_tensor *tensor,
                                const struct part *at, uint64_t value)
{
    if (tensor->dimensions == CLF__TENSOR_DIMENSIONS) {
        return damaged(reader, at, "a tensor has more than 8 dimensions");
    }
    if (value > INT32_MAX) {
        return damaged(reader, at, "a dimension of a tensor is negative or too large");
    }
    tensor->shape[tensor->dimensions++] = (int64_t)value;
    return CLF_OK;
}

/* Reads one dimension or a packed list of dimensions. */
static clf_status read_dimensions(const struct reader *reader, struct clf__stored_tensor *tensor,
                                  const struct field *field)
{
    struct part part = field->bytes;
    if (field->wire == VARINT) {
        part.at = part.end = reader->file;
        return add_dimension(reader, tensor, &part, field->value);
    }
    while (field->wire == BYTES && part.at < part.end) {
        uint64_t value;
        CLF__TRY(read_varint(&value, reader, &part));
        CLF__TRY(add_dimension(reader, tensor, &part, value));
    }
    return CLF_OK;
}

/* Returns the type of a data_type number, or NULL for a type that is not floating-point. */
static const struct clf__element_type *find_type(uint64_t number)
{
    static const struct {
        uint64_t number;
        const char *name;
    } types[] = {{1, "F32"}, {10, "F16"}, {11, "F64"}, {16, "BF16"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].number == number) {
            return clf__element_type_find(types[i].name);
        }
    }
    return NULL;
}

/* A tensor of the file before validation. */
struct found {
    struct clf__stored_tensor tensor;
    struct part name, values;
    uint64_t type, location;
};

static clf_status read_tensor(struct found *out, const struct reader *reader, struct part part)
{
    while (part.at < part.end) {
        struct field field;
        CLF__TRY(read_field(&field, reader, &part));
        if (field.number == TENSOR_DIMS) {
            CLF__TRY(read_dimensions(reader, &out->tensor, &field));
        } else if (field.number == TENSOR_TYPE && field.wire == VARINT) {
            out->type = field.value;
        } else if (field.number == TENSOR_LOCATION && field.wire == VARINT) {
            out->location = field.value;
        } else if (field.number == TENSOR_NAME && field.wire == BYTES && field.bytes.at < field.bytes.end) {
            out->name = field.bytes;
        } else if ((field.number == TENSOR_RAW || field.number == TENSOR_FLOATS) && field.wire == BYTES) {
            out->values = field.bytes;
        }
    }
    return CLF_OK;
}

/* Adds a weight to the list; skips other constants of the network: integers, scalars, and tensors without a
 * name. */
static clf_status add_tensor(struct reader *reader, const struct found *found)
{
    struct clf__stored_tensor tensor = found->tensor;
    const struct clf__element_type *type = find_type(found->type);
    size_t length = (size_t)(found->name.end - found->name.at);
    uint64_t elements = 1;
    if (type == NULL || tensor.dimensions == 0 || length == 0) {
        return CLF_OK;
    }
    char name[MAX_NAME + 1];
    if (length > MAX_NAME || memchr(found->name.at, '\0', length) != NULL) {
        return damaged(reader, &found->name, "a tensor has an invalid name");
    }
    memcpy(name, found->name.at, length);
    name[length] = '\0';
    if (found->location != 0) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: the values of tensor \"%s\" are in another file; save the network as one file",
                         reader->shard->path, name);
    }
    for (int i = 0; i < tensor.dimensions; i++) {
        if (__builtin_mul_overflow(elements, (uint64_t)tensor.shape[i], &elements)) {
            return damaged(reader, &found->name, "the shape of a tensor exceeds any possible file");
        }
    }
    tensor.size = (size_t)(found->values.end - found->values.at);
    if (elements != tensor.size / type->bytes || tensor.size % type->bytes != 0) {
        return damaged(reader, &found->name, "the size and the shape of a tensor disagree");
    }
    CLF__TRY(clf__names_add(&reader->shard->name_list, name));
    tensor.name = reader->shard->name_list.items[reader->shard->name_list.count - 1];
    tensor.file = reader->shard->path;
    tensor.source = &reader->shard->file;
    tensor.type = type->storage;
    tensor.type_name = type->name;
    tensor.offset = tensor.size > 0 ? (uint64_t)(found->values.at - reader->file) : 0;
    struct clf__tensor_list *list = reader->list;
    CLF__TRY(clf__grow(&list->items, list->count, &reader->capacity, sizeof *list->items));
    list->items[list->count++] = tensor;
    return CLF_OK;
}

static clf_status read_graph(struct reader *reader, struct part part, int depth);

/* Reads an attribute of a node; a constant has the name of the node's output. */
static clf_status read_attribute(struct reader *reader, struct part part, const struct part *output,
                                 int depth)
{
    while (part.at < part.end) {
        struct field field;
        CLF__TRY(read_field(&field, reader, &part));
        if (field.number == ATTRIBUTE_TENSOR && field.wire == BYTES) {
            struct found found = {0};
            CLF__TRY(read_tensor(&found, reader, field.bytes));
            found.name = *output;
            CLF__TRY(add_tensor(reader, &found));
        } else if (field.number == ATTRIBUTE_GRAPH && field.wire == BYTES) {
            CLF__TRY(read_graph(reader, field.bytes, depth + 1));
        }
    }
    return CLF_OK;
}

static clf_status read_node(struct reader *reader, struct part part, int depth)
{
    struct part output = {0}; /* precedes the attributes */
    while (part.at < part.end) {
        struct field field;
        CLF__TRY(read_field(&field, reader, &part));
        if (field.number == NODE_OUTPUT && field.wire == BYTES && output.at == NULL) {
            output = field.bytes;
        } else if (field.number == NODE_ATTRIBUTE && field.wire == BYTES) {
            CLF__TRY(read_attribute(reader, field.bytes, &output, depth));
        }
    }
    return CLF_OK;
}

static clf_status read_graph(struct reader *reader, struct part part, int depth)
{
    if (depth > MAX_DEPTH) {
        return damaged(reader, &part, "more than 16 graphs are inside each other");
    }
    while (part.at < part.end) {
        struct field field;
        CLF__TRY(read_field(&field, reader, &part));
        if (field.number == GRAPH_INITIALIZER && field.wire == BYTES) {
            struct found found = {0};
            CLF__TRY(read_tensor(&found, reader, field.bytes));
            CLF__TRY(add_tensor(reader, &found));
        } else if (field.number == GRAPH_NODE && field.wire == BYTES) {
            CLF__TRY(read_node(reader, field.bytes, depth));
        }
    }
    return CLF_OK;
}

static clf_status read_model(struct reader *reader, size_t size)
{
    struct part part = {reader->file, reader->file + size};
    int graphs = 0;
    while (part.at < part.end) {
        struct field field;
        CLF__TRY(read_field(&field, reader, &part));
        if (field.number == MODEL_GRAPH && field.wire == BYTES) {
            CLF__TRY(read_graph(reader, field.bytes, 0));
            graphs++;
        }
    }
    return graphs > 0 ? CLF_OK : damaged(reader, &part, "not an ONNX file: it has no graph");
}

clf_status clf__onnx_open(struct clf__shard *shard, struct clf__tensor_list *list)
{
    CLF__TRY(clf__file_open(&shard->file, shard->path));
    if (shard->file.size > max_bytes) {
        return clf__fail(CLF_FORMAT,
                         "%s: is larger than an ONNX file can be; download or save the file again",
                         shard->path);
    }
    uint8_t *file;
    size_t size = (size_t)shard->file.size;
    shard->first = list->count;
    CLF__TRY(clf__allocate(&file, size, 1));
    struct reader reader = {.shard = shard, .list = list, .capacity = list->count, .file = file};
    clf_status status = clf__file_read_at(&shard->file, 0, file, size);
    status = status == CLF_OK ? read_model(&reader, size) : status;
    shard->count = list->count - shard->first;
    clf__free(file);
    return status;
}
