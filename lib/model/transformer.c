#include "model/transformer.h"

#include <inttypes.h>

#include "base/memory.h"
#include "model/config/config.h"
#include "model/config/sides.h"
#include "model/formats/format.h"
#include "model/stacks.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/lock.h"

struct clf__stacks clf__transformer_stacks(struct clf__transformer *transformer)
{
    return (struct clf__stacks){&transformer->encoder, &transformer->decoder};
}

static clf_status check_fits(const struct clf__transformer *transformer, const char *folder)
{
    uint64_t needed = transformer->weight_bytes, left = clf__device_free_bytes(transformer->device);
    if (needed <= left) {
        return CLF_OK;
    }
    return clf__fail(
        CLF_DEVICE_MEMORY,
        "%s: the weights need %" PRIu64 " bytes on the device, which has %" PRIu64 " left of %" PRIu64
        "; use a smaller precision (--precision fp16 or int8), a smaller model or a device with more memory",
        folder, needed, left, clf__device_caps(transformer->device)->memory_bytes);
}

clf_status clf__transformer_load_weights(struct clf__transformer *transformer, const char *folder)
{
    struct clf__parameters *parameters;
    CLF__TRY(clf__parameters_load(&parameters, &transformer->config, folder));
    const struct clf__parameter_list *list = clf__parameters_list(parameters);
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *item = &list->items[i];
        transformer->parameter_count += (int64_t)item->rows * item->columns;
        transformer->weight_bytes +=
            item->rows > 1
                ? clf__weight_bytes(transformer->device, transformer->precision, item->rows, item->columns)
                : (size_t)item->columns * sizeof(float);
    }
    clf_status status = check_fits(transformer, folder);
    if (status == CLF_OK) {
        status = clf__stacks_load(clf__transformer_stacks(transformer), transformer->device,
                                  &transformer->config, transformer->precision, parameters);
    }
    clf__parameters_free(parameters);
    return status;
}

static clf_status configure(struct clf__transformer *transformer, const char *folder, clf_precision precision)
{
    CLF__TRY(clf__format_read_config(&transformer->config, folder));
    transformer->precision =
        precision == CLF_PRECISION_AUTO ? transformer->config.precision : clf__precision_of(precision);
    return clf__config_check_heads(&transformer->config, transformer->device, folder, 0);
}

clf_status clf__transformer_configure(struct clf__transformer **out, struct clf_device *device,
                                      const char *folder, clf_precision precision)
{
    struct clf__transformer *transformer;
    CLF__TRY(clf__allocate(&transformer, 1, sizeof *transformer));
    transformer->device = device;
    clf_status status = configure(transformer, folder, precision);
    if (status != CLF_OK) {
        clf__transformer_free(transformer);
        return status;
    }
    *out = transformer;
    return CLF_OK;
}

clf_status clf__transformer_load(struct clf__transformer **out, struct clf_device *device, const char *folder,
                                 clf_precision precision)
{
    CLF__TRY(clf__transformer_configure(out, device, folder, precision));
    clf_status status = clf__transformer_load_weights(*out, folder);
    if (status != CLF_OK) {
        clf__transformer_free(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__transformer_ensure_positions(struct clf__transformer *transformer, int source_length,
                                             int target_length)
{
    const struct clf__config *config = &transformer->config;
    struct clf_device *device = transformer->device;
    CLF__TRY(clf__stack_ensure_positions(&transformer->encoder, device, config, CLF__ENCODER, source_length));
    return clf__stack_ensure_positions(&transformer->decoder, device, config, CLF__DECODER, target_length);
}

void clf__transformer_free(struct clf__transformer *transformer)
{
    CLF__LOCK_DEVICE(transformer != NULL ? transformer->device : NULL);
    if (transformer == NULL) {
        return;
    }
    clf__stacks_free(clf__transformer_stacks(transformer), &transformer->config);
    clf__config_free(&transformer->config);
    clf__free(transformer);
}
