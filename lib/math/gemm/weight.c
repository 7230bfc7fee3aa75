#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "math/gemm/backend.h"
#include "math/gemm/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/pool.h"

int clf__weight_inputs(const struct clf__weight *weight)
{
    return weight->inputs;
}

int clf__weight_outputs(const struct clf__weight *weight)
{
    return weight->outputs;
}

size_t clf__weight_bytes(struct clf_device *device, enum clf__precision precision, int outputs, int inputs)
{
    return clf__gemm_backend_of(device, precision)->weight_bytes(precision, outputs, inputs);
}

struct clf__weight_layout clf__weight_layout(const struct clf__weight *weight)
{
    const struct clf__gemm_backend *backend = weight->backend;
    return (struct clf__weight_layout){
        .buffer = weight->buffer,
        .precision = weight->precision,
        .panel = backend->panel,
        .group = backend->packing ? backend->packing(weight->precision)->group : 1,
        .is_copied = clf__weight_reads_copy(weight),
    };
}

int clf__layout_has_matrix(struct clf__weight_layout layout)
{
    int word = layout.precision == CLF__PRECISION_INT8 ? 2 * CLF__WORD_HALVES : CLF__WORD_HALVES;
    return layout.precision != CLF__PRECISION_FP32 && layout.panel == CLF__PANEL && layout.group == word;
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

clf_status clf__weight_check(long long outputs, int inputs, enum clf__precision precision, const char *what)
{
    if (inputs < 1 || outputs < 1 || outputs > INT_MAX - CLF__PANEL || clf__packing_of(precision) == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: invalid weight: %lld outputs, %d inputs, precision %d", what,
                         outputs, inputs, (int)precision);
    }
    return CLF_OK;
}

/* Allocates a weight, in the pool if there is one. */
static clf_status allocate(struct clf__weight **out, struct clf_device *device, struct clf__pool *pool,
                           enum clf__precision precision, int outputs, int inputs, const char *what)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__allocate(&weight, 1, sizeof *weight));
    weight->device = device;
    weight->precision = precision;
    weight->inputs = inputs;
    weight->outputs = outputs;
    weight->backend = clf__gemm_backend_of(device, precision);
    weight->bf16_backend = clf__gemm_backend_of(device, CLF__PRECISION_BF16);
    size_t bytes = weight->backend->weight_bytes(precision, outputs, inputs);
    clf_status status = pool != NULL ? clf__pool_reserve(&weight->buffer, pool, bytes, what)
                                     : clf__buffer_create_streamed(&weight->buffer, device, bytes, what);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}

clf_status clf__weight_allocate(struct clf__weight **out, struct clf_device *device,
                                enum clf__precision precision, int outputs, int inputs, const char *what)
{
    return allocate(out, device, NULL, precision, outputs, inputs, what);
}

clf_status clf__weight_reserve_zero(struct clf__weight **out, struct clf__pool *pool,
                                    const struct clf__weight *like, const char *what)
{
    return allocate(out, pool->device, pool, CLF__PRECISION_FP32, like->outputs, like->inputs, what);
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

clf_status clf__weight_create_streamed(struct clf__weight **out, struct clf_device *device,
                                       const struct clf__weight_stream *stream)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__weight_check(stream->outputs, stream->inputs, stream->precision, stream->what));
    if (stream->precision == CLF__PRECISION_INT8 && stream->inputs > CLF__INT8_INPUTS) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: %d inputs are too many for int8, which supports %d; use another precision",
                         stream->what, stream->inputs, CLF__INT8_INPUTS);
    }
    CLF__TRY(clf__weight_allocate(&weight, device, stream->precision, stream->outputs, stream->inputs,
                                  stream->what));
    clf_status status = weight->backend->write_stream(weight, stream);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}

/* Reads the rows of the stacked parts in order. */
static clf_status read_parts(void *user, int first, int count, float *target)
{
    const struct clf__weight_source *source = user;
    size_t inputs = (size_t)source->inputs;
    for (int i = 0; i < source->part_count && count > 0; first -= source->parts[i++].rows) {
        const struct clf__weight_part *part = &source->parts[i];
        if (first < part->rows) {
            int here = part->rows - first < count ? part->rows - first : count;
            memcpy(target, part->data + (size_t)first * inputs, (size_t)here * inputs * sizeof *target);
            target += (size_t)here * inputs;
            first += here;
            count -= here;
        }
    }
    return CLF_OK;
}

clf_status clf__weight_create(struct clf__weight **out, struct clf_device *device,
                              const struct clf__weight_source *source)
{
    long long outputs = 0;
    for (int i = 0; i < source->part_count; i++) {
        int rows = source->parts[i].rows;
        outputs += rows < 0 ? LLONG_MIN / 4 / source->part_count : rows;
    }
    CLF__TRY(clf__weight_check(outputs, source->inputs, source->precision, source->what));
    struct clf__weight_stream stream = {.outputs = (int)outputs,
                                        .inputs = source->inputs,
                                        .precision = source->precision,
                                        .what = source->what,
                                        .read = read_parts,
                                        .user = (void *)source};
    return clf__weight_create_streamed(out, device, &stream);
}
