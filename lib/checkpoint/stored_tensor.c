#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "checkpoint/little_endian.h"
#include "checkpoint/safetensors.h"

/* Values that wait to be converted: they lie in a cache. */
enum { PIECE_BYTES = 1 << 17 };

clf_status clf__stored_tensor_same(int *out, const struct clf__stored_tensor *a,
                                   const struct clf__stored_tensor *b)
{
    *out = a->type == b->type && a->size == b->size;
    return *out ? clf__file_same(out, a->source, a->offset, b->source, b->offset, a->size) : CLF_OK;
}

static float read_double(const uint8_t *bytes)
{
    uint64_t bits = clf__read_64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

/* Straight to where they go: the file has them as they are, but for the order of bytes. */
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
}

/* Of another size, a piece at a time. */
static clf_status read_others(const struct clf__stored_tensor *tensor, float *target)
{
    size_t width = tensor->type == CLF__STORED_F64 ? 8 : 2;
    uint8_t *bytes = NULL;
    CLF__TRY(clf__allocate(&bytes, PIECE_BYTES, 1));
    clf_status status = CLF_OK;
    for (size_t at = 0; at < tensor->size && status == CLF_OK; at += PIECE_BYTES) {
        size_t left = tensor->size - at, size = left < PIECE_BYTES ? left : PIECE_BYTES;
        status = clf__file_read_at(tensor->source, tensor->offset + at, bytes, size);
        if (status == CLF_OK) {
            convert(target + at / width, bytes, size / width, tensor->type);
        }
    }
    clf__free(bytes);
    return status;
}

clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target)
{
    if (tensor->type == CLF__STORED_OTHER) {
        return clf__fail(
            CLF_FORMAT,
            "%s: tensor \"%.200s\" has dtype %s, not a float of 16, 32 or 64 bits; save it as one",
            tensor->file, tensor->name, tensor->type_name);
    }
    return tensor->type == CLF__STORED_F32 ? read_fp32(tensor, target) : read_others(tensor, target);
}
