#include <string.h>

#include "base/half.h"
#include "model/little_endian.h"
#include "model/safetensors.h"

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
            target[i] = clf__float_of_fp32(clf__read_32(bytes + 4 * i));
        }
        return CLF_OK;
    case CLF__STORED_F16:
        for (size_t i = 0; i < tensor->size / 2; i++) {
            target[i] = clf__float_of_fp16((uint16_t)clf__read_16(bytes + 2 * i));
        }
        return CLF_OK;
    case CLF__STORED_BF16:
        for (size_t i = 0; i < tensor->size / 2; i++) {
            target[i] = clf__float_of_bf16((uint16_t)clf__read_16(bytes + 2 * i));
        }
        return CLF_OK;
    case CLF__STORED_OTHER:
        break;
    }
    return clf__fail(CLF_FORMAT,
                     "%s: tensor \"%.200s\" has dtype %s, not a float of 16, 32 or 64 bits; save it as one",
                     tensor->file, tensor->name, tensor->type_name);
}
