#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/little_endian.h"
#include "base/memory.h"
#include "model/weights/stored_tensor.h"

/* bytes converted at a time, few enough to fit in the cache */
enum { BLOCK_BYTES = 1 << 17 };

static const struct clf__element_type types[] = {
    {"F64", 8, CLF__STORED_F64},       {"F32", 4, CLF__STORED_F32},      {"F16", 2, CLF__STORED_F16},
    {"BF16", 2, CLF__STORED_BF16},     {"C64", 8, CLF__STORED_OTHER},    {"I64", 8, CLF__STORED_OTHER},
    {"U64", 8, CLF__STORED_OTHER},     {"I32", 4, CLF__STORED_I32},      {"U32", 4, CLF__STORED_OTHER},
    {"I16", 2, CLF__STORED_I16},       {"U16", 2, CLF__STORED_OTHER},    {"I8", 1, CLF__STORED_I8},
    {"U8", 1, CLF__STORED_OTHER},      {"BOOL", 1, CLF__STORED_OTHER},   {"F8_E4M3", 1, CLF__STORED_OTHER},
    {"F8_E5M2", 1, CLF__STORED_OTHER}, {"F8_E8M0", 1, CLF__STORED_OTHER}};

const struct clf__element_type *clf__element_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

static size_t element_bytes(enum clf__storage type)
{
    static const size_t bytes[] = {8, 4, 2, 2, 1, 2, 4, 1}; /* indexed by enum clf__storage */
    return bytes[type];
}

int clf__stored_tensor_is_real(const struct clf__stored_tensor *tensor)
{
    return tensor->type < CLF__STORED_I8 || (tensor->type < CLF__STORED_OTHER && tensor->scales.count > 0);
}

struct clf__stored_tensor clf__stored_tensor_rows(const struct clf__stored_tensor *tensor, int64_t first,
                                                  int64_t count)
{
    struct clf__stored_tensor out = *tensor;
    size_t row = tensor->shape[0] > 0 ? tensor->size / (size_t)tensor->shape[0] : 0;
    size_t step = tensor->is_strided ? (size_t)tensor->strides[0] * element_bytes(tensor->type) : row;
    out.shape[0] = count;
    out.size = (size_t)count * row;
    out.offset += (uint64_t)first * step;
    if (out.scales.count > 1) {
        out.scales.count = (int)count;
        out.scales.offset += (uint64_t)first * sizeof(float);
    }
    return out;
}

int clf__stored_tensor_is_int8(const struct clf__stored_tensor *tensor)
{
    return tensor->type == CLF__STORED_I8 && tensor->scales.count > 0 && !tensor->is_strided;
}

static int is_same_place(const struct clf__stored_tensor *a, const struct clf__stored_tensor *b)
{
    return a->source == b->source && a->offset == b->offset && a->dimensions == b->dimensions &&
           a->is_strided == b->is_strided && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           (!a->is_strided || memcmp(a->strides, b->strides, sizeof a->strides) == 0);
}

static int same_scales(const struct clf__stored_tensor *a, const struct clf__stored_tensor *b)
{
    return a->scales.count == b->scales.count && a->scales.offset == b->scales.offset &&
           !(a->scales.value < b->scales.value) && !(a->scales.value > b->scales.value);
}

clf_status clf__stored_tensor_same(int *out, const struct clf__stored_tensor *a,
                                   const struct clf__stored_tensor *b)
{
    *out = a->type == b->type && a->size == b->size && same_scales(a, b);
    if (!*out || is_same_place(a, b)) {
        return CLF_OK;
    }
    *out = !a->is_strided && !b->is_strided; /* strided tensors count as equal only at the same position */
    return *out ? clf__file_same(out, a->source, a->offset, b->source, b->offset, a->size) : CLF_OK;
}

static float read_double(const uint8_t *bytes)
{
    uint64_t bits = clf__read_64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

/* Reads into the target, then converts the byte order in place. */
static clf_status read_fp32(const struct clf__stored_tensor *tensor, float *target)
{
    CLF__TRY(clf__file_read_at(tensor->source, tensor->offset, target, tensor->size));
    for (size_t i = 0; i < tensor->size / sizeof *target; i++) {
        target[i] = clf__float_of_fp32(clf__read_32((const uint8_t *)&target[i]));
    }
    return CLF_OK;
}

static void convert(float *target, const uint8_t *bytes, size_t count, enum clf__storage type)
{
    for (size_t i = 0; type == CLF__STORED_F64 && i < count; i++) {
        target[i] = read_double(bytes + 8 * i);
    }
    for (size_t i = 0; type == CLF__STORED_F16 && i < count; i++) {
        target[i] = clf__float_of_fp16((uint16_t)clf__read_16(bytes + 2 * i));
    }
    for (size_t i = 0; type == CLF__STORED_BF16 && i < count; i++) {
        target[i] = clf__float_of_bf16((uint16_t)clf__read_16(bytes + 2 * i));
    }
    for (size_t i = 0; type == CLF__STORED_I8 && i < count; i++) {
        target[i] = (float)(int8_t)bytes[i];
    }
    for (size_t i = 0; type == CLF__STORED_I16 && i < count; i++) {
        target[i] = (float)(int16_t)clf__read_16(bytes + 2 * i);
    }
    for (size_t i = 0; type == CLF__STORED_I32 && i < count; i++) {
        target[i] = (float)(int32_t)clf__read_32(bytes + 4 * i);
    }
}

/* Converts other types block by block. */
static clf_status read_others(const struct clf__stored_tensor *tensor, float *target)
{
    size_t width = element_bytes(tensor->type);
    uint8_t *bytes = NULL;
    CLF__TRY(clf__allocate(&bytes, BLOCK_BYTES, 1));
    clf_status status = CLF_OK;
    for (size_t at = 0; at < tensor->size && status == CLF_OK; at += BLOCK_BYTES) {
        size_t left = tensor->size - at, size = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        status = clf__file_read_at(tensor->source, tensor->offset + at, bytes, size);
        if (status == CLF_OK) {
            convert(target + at / width, bytes, size / width, tensor->type);
        }
    }
    clf__free(bytes);
    return status;
}

/* Reads adjacent elements, starting at `offset`. */
static clf_status read_run(const struct clf__stored_tensor *tensor, uint64_t offset, size_t size,
                           float *target)
{
    struct clf__stored_tensor run = *tensor;
    run.offset = offset;
    run.size = size;
    return tensor->type == CLF__STORED_F32 ? read_fp32(&run, target) : read_others(&run, target);
}

/* Reads all bytes from the tensor's first element to its last, then picks out the elements. */
static clf_status read_strided(const struct clf__stored_tensor *tensor, float *target)
{
    size_t count = tensor->size / element_bytes(tensor->type), span = 1;
    for (int i = 0; i < tensor->dimensions; i++) {
        span += (size_t)(tensor->shape[i] - 1) * (size_t)tensor->strides[i];
    }
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, span, sizeof *values));
    clf_status status = read_run(tensor, tensor->offset, span * element_bytes(tensor->type), values);
    for (size_t i = 0; status == CLF_OK && i < count; i++) {
        size_t left = i, at = 0;
        for (int k = tensor->dimensions - 1; k >= 0; k--) {
            at += left % (size_t)tensor->shape[k] * (size_t)tensor->strides[k];
            left /= (size_t)tensor->shape[k];
        }
        target[i] = values[at];
    }
    clf__free(values);
    return status;
}

/* Reads the scales and rejects invalid ones. */
static clf_status read_scales(const struct clf__stored_tensor *tensor, float *scales)
{
    size_t count = (size_t)tensor->scales.count;
    scales[0] = tensor->scales.value;
    if (!(scales[0] > 0.0f)) {
        struct clf__stored_tensor stored = {
            .source = tensor->source, .offset = tensor->scales.offset, .size = count * sizeof *scales};
        CLF__TRY(read_fp32(&stored, scales));
    }
    for (size_t r = 0; r < count; r++) {
        int is_zero = tensor->scales.multiplies && scales[r] == 0.0f; /* the scale of a row of zeros */
        if (!is_zero && (!(scales[r] > 0.0f) || !isfinite(scales[r]))) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" has the invalid scale %g; download the file again",
                             tensor->file, tensor->name, (double)scales[r]);
        }
    }
    return CLF_OK;
}

static clf_status unscale(const struct clf__stored_tensor *tensor, float *target)
{
    size_t count = tensor->size / element_bytes(tensor->type), rows = (size_t)tensor->scales.count;
    float *scales;
    CLF__TRY(clf__allocate(&scales, rows, sizeof *scales));
    clf_status status = read_scales(tensor, scales);
    for (size_t r = 0; status == CLF_OK && r < rows; r++) {
        for (size_t i = r * (count / rows); i < (r + 1) * (count / rows); i++) {
            target[i] = tensor->scales.multiplies ? target[i] * scales[r] : target[i] / scales[r];
        }
    }
    clf__free(scales);
    return status;
}

clf_status clf__stored_tensor_read_int8(const struct clf__stored_tensor *tensor, int8_t *target,
                                        float *factors)
{
    CLF__TRY(clf__file_read_at(tensor->source, tensor->offset, target, tensor->size));
    CLF__TRY(read_scales(tensor, factors));
    for (int64_t r = tensor->shape[0]; tensor->scales.count == 1 && r-- > 0;) {
        factors[r] = factors[0];
    }
    for (int64_t r = 0; !tensor->scales.multiplies && r < tensor->shape[0]; r++) {
        factors[r] = 1.0f / factors[r];
    }
    return CLF_OK;
}

clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target)
{
    if (tensor->type == CLF__STORED_OTHER) {
        return clf__fail(CLF_FORMAT,
                         "%s: tensor \"%.200s\" has dtype %s, but only floats of 16, 32 or 64 bits are "
                         "supported; convert the tensor",
                         tensor->file, tensor->name, tensor->type_name);
    }
    CLF__TRY(tensor->is_strided ? read_strided(tensor, target)
                                : read_run(tensor, tensor->offset, tensor->size, target));
    return tensor->scales.count > 0 ? unscale(tensor, target) : CLF_OK;
}
