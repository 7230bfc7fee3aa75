#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "device/buffer.h"
#include "device/caps.h"
#include "device/pool.h"
#include "gemm/gemm.h"
#include "gemm/provider.h"

int clf__weight_inputs(const struct clf__weight *weight)
{
    return weight->inputs;
}

int clf__weight_outputs(const struct clf__weight *weight)
{
    return weight->outputs;
}

struct clf__weight_layout clf__weight_layout(const struct clf__weight *weight)
{
    return (struct clf__weight_layout){.buffer = weight->buffer,
                                       .precision = weight->precision,
                                       .panel = weight->provider->panel,
                                       .group = clf__packing_of(weight->precision)->group};
}

void clf__weight_pause_copies(struct clf__weight *weight, int is_paused)
{
    weight->is_paused = is_paused;
}

void clf__weight_free_copy(struct clf__weight *weight)
{
    clf__weight_free(weight->rounded);
    weight->rounded = NULL;
    weight->has_copy = weight->is_paused = 0;
}

void clf__weight_free(struct clf__weight *weight)
{
    if (weight) {
        clf__weight_free_copy(weight);
        clf__buffer_free(weight->buffer);
        clf__free(weight);
    }
}

/* A weight that no half is near would become infinite, and every line that meets it NaN. */
static clf_status check_fits_half(const struct clf__weight_source *source)
{
    const float limit = 65520.0f; /* where rounding leaves the largest half, 65504 */
    for (int i = 0; i < source->part_count; i++) {
        size_t count = (size_t)source->parts[i].rows * (size_t)source->inputs;
        for (size_t k = 0; k < count; k++) {
            float value = source->parts[i].data[k];
            if (isfinite(value) && fabsf(value) >= limit) {
                return clf__fail(CLF_UNSUPPORTED,
                                 "%s: a weight is %g, and fp16 ends at 65504; load the model in bf16 or fp32",
                                 source->what, (double)value);
            }
        }
    }
    return CLF_OK;
}

clf_status clf__weight_check(long long outputs, int inputs, clf_precision precision, const char *what)
{
    if (inputs < 1 || outputs < 1 || outputs > INT_MAX - CLF__PANEL || clf__packing_of(precision) == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: a weight of %lld outputs and %d inputs in precision %d", what,
                         outputs, inputs, (int)precision);
    }
    return CLF_OK;
}

/* Its memory is of the pool where there is one. */
static clf_status allocate(struct clf__weight **out, struct clf_device *device, struct clf__pool *pool,
                           clf_precision precision, int outputs, int inputs, const char *what)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__allocate(&weight, 1, sizeof *weight));
    weight->device = device;
    weight->precision = precision;
    weight->inputs = inputs;
    weight->outputs = outputs;
    weight->provider = clf__gemm_provider_of(device, precision);
    size_t bytes = weight->provider->weight_bytes(precision, outputs, inputs);
    clf_status status = pool != NULL ? clf__pool_reserve(&weight->buffer, pool, bytes, what)
                                     : clf__buffer_create_streamed(&weight->buffer, device, bytes, what);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}

clf_status clf__weight_allocate(struct clf__weight **out, struct clf_device *device, clf_precision precision,
                                int outputs, int inputs, const char *what)
{
    return allocate(out, device, NULL, precision, outputs, inputs, what);
}

clf_status clf__weight_reserve_zero(struct clf__weight **out, struct clf__pool *pool,
                                    const struct clf__weight *like, const char *what)
{
    return allocate(out, pool->device, pool, CLF_PRECISION_FP32, like->outputs, like->inputs, what);
}

clf_status clf__weight_create_copy(struct clf__weight **out, const struct clf__weight *weight,
                                   const char *what)
{
    struct clf__weight *copy = NULL;
    CLF__TRY(clf__weight_allocate(&copy, weight->device, weight->precision, weight->outputs, weight->inputs,
                                  what));
    clf_status status =
        clf__buffer_copy(copy->buffer, 0, weight->buffer, 0, clf__buffer_bytes(weight->buffer));
    if (status != CLF_OK) {
        clf__weight_free(copy);
        return status;
    }
    *out = copy;
    return CLF_OK;
}

static clf_status check_source(const struct clf__weight_source *source, long long outputs)
{
    CLF__TRY(clf__weight_check(outputs, source->inputs, source->precision, source->what));
    if (source->precision == CLF_PRECISION_INT8 && source->inputs > CLF__INT8_INPUTS) {
        return clf__fail(CLF_UNSUPPORTED, "%s: %d inputs; in int8 at most %d are supported", source->what,
                         source->inputs, CLF__INT8_INPUTS);
    }
    return source->precision == CLF_PRECISION_FP16 ? check_fits_half(source) : CLF_OK;
}

clf_status clf__weight_create(struct clf__weight **out, struct clf_device *device,
                              const struct clf__weight_source *source)
{
    long long outputs = 0;
    for (int i = 0; i < source->part_count; i++) {
        int rows = source->parts[i].rows;
        outputs += rows < 0 ? LLONG_MIN / 4 / source->part_count : rows;
    }
    struct clf__weight *weight = NULL;
    CLF__TRY(check_source(source, outputs));
    CLF__TRY(
        clf__weight_allocate(&weight, device, source->precision, (int)outputs, source->inputs, source->what));
    clf_status status = weight->provider->write_parts(weight, source->parts, source->part_count);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}
