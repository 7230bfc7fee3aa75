#include <string.h>

#include "model/little_endian.h"
#include "model/safetensors.h"

/* The bits of an IEEE half as those of a float: every half is a float. */
static uint32_t float_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
    if (exponent == 0x1f) { /* infinity and NaN */
        return sign | 0x7f800000u | fraction << 13;
    }
    if (exponent == 0) {
        if (fraction == 0) {
            return sign;
        }
        exponent = 1; /* a denormal half is a normal float */
        while ((fraction & 0x400u) == 0) {
            fraction <<= 1;
            exponent--;
        }
        fraction &= 0x3ffu;
    }
    return sign | (exponent + 112) << 23 | fraction << 13;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float read_double(const uint8_t *bytes)
{
    uint64_t bits = clf__read_64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target)
{
    const uint8_t *bytes = tensor->bytes;
    switch (tensor->type) {
    case CLF__STORED_F64:
        for (size_t i = 0; i < tensor->size / 8; i++) {
            target[i] = read_double(bytes + 8 * i);
        }
        return CLF_OK;
    case CLF__STORED_F32:
        for (size_t i = 0; i < tensor->size / 4; i++) {
            target[i] = float_of_bits(clf__read_32(bytes + 4 * i));
        }
        return CLF_OK;
    case CLF__STORED_F16:
        for (size_t i = 0; i < tensor->size / 2; i++) {
            target[i] = float_of_bits(float_of_half(clf__read_16(bytes + 2 * i)));
        }
        return CLF_OK;
    case CLF__STORED_BF16:
        for (size_t i = 0; i < tensor->size / 2; i++) {
            target[i] = float_of_bits(clf__read_16(bytes + 2 * i) << 16);
        }
        return CLF_OK;
    case CLF__STORED_OTHER:
        break;
    }
    return clf__fail(CLF_FORMAT, "%s: tensor \"%.200s\" has dtype %s, not a float of 16, 32 or 64 bits",
                     tensor->file, tensor->name, tensor->type_name);
}
