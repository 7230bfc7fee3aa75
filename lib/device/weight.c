#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "device/buffer.h"
#include "device/caps.h"
#include "device/gemm.h"
#include "device/gemm_provider.h"

/* How much of a weight is packed at a time, so that the host never holds a second copy of it. */
enum { STAGING_BYTES = 1 << 22 };

/* Bytes of one panel: its groups of inputs for CLF__PANEL outputs, and its tail. */
static size_t panel_bytes(clf_precision precision, int inputs)
{
    const struct clf__packing *packing = clf__packing_of(precision);
    size_t group = (size_t)packing->group;
    return ((size_t)inputs + group - 1) / group * group * CLF__PANEL * packing->bytes + packing->tail;
}

size_t clf__weight_bytes(clf_precision precision, int outputs, int inputs)
{
    size_t panels = ((size_t)outputs + CLF__PANEL - 1) / CLF__PANEL;
    return panels * panel_bytes(precision, inputs);
}

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
                                       .panel = weight->panel,
                                       .group = clf__packing_of(weight->precision)->group};
}

void clf__weight_free(struct clf__weight *weight)
{
    if (weight) {
        clf__weight_free_copies(weight);
        clf__buffer_free(weight->buffer);
        clf__free(weight);
    }
}

/* The rows of the stacked parts, one after the other. */
struct row_reader {
    const struct clf__weight_part *part;
    int part_count;
    int row; /* of *part */
};

static const float *next_row(struct row_reader *reader, int inputs)
{
    while (reader->part_count > 0 && reader->row == reader->part->rows) {
        reader->part++;
        reader->part_count--;
        reader->row = 0;
    }
    return reader->part_count > 0 ? reader->part->data + (size_t)reader->row++ * (size_t)inputs : NULL;
}

/* One panel from the next rows; what lies beyond the last row or the last input is zero. */
static void pack_panel(char *panel, struct row_reader *reader, const struct clf__weight *weight)
{
    const struct clf__packing *packing = clf__packing_of(weight->precision);
    memset(panel, 0, panel_bytes(weight->precision, weight->inputs));
    for (int lane = 0; lane < CLF__PANEL; lane++) {
        const float *row = next_row(reader, weight->inputs);
        if (row != NULL) {
            packing->pack_row(panel, lane, row, weight->inputs);
        }
    }
}

static clf_status write_panels(struct clf__weight *weight, const struct clf__weight_part *parts,
                               int part_count)
{
    size_t bytes = panel_bytes(weight->precision, weight->inputs);
    size_t total = ((size_t)weight->outputs + CLF__PANEL - 1) / CLF__PANEL;
    size_t chunk = STAGING_BYTES / bytes;
    chunk = chunk == 0 ? 1 : chunk < total ? chunk : total;
    char *staging = NULL;
    CLF__TRY(clf__allocate(&staging, chunk, bytes));
    struct row_reader reader = {.part = parts, .part_count = part_count};
    clf_status status = CLF_OK;
    for (size_t first = 0; first < total && status == CLF_OK; first += chunk) {
        size_t count = total - first < chunk ? total - first : chunk;
        for (size_t i = 0; i < count; i++) {
            pack_panel(staging + i * bytes, &reader, weight);
        }
        status = clf__buffer_write(weight->buffer, first * bytes, count * bytes, staging);
    }
    clf__free(staging);
    return status;
}

static clf_status write_rows(struct clf__weight *weight, const struct clf__weight_part *parts, int part_count)
{
    size_t offset = 0;
    for (int i = 0; i < part_count; i++) {
        size_t bytes = (size_t)parts[i].rows * (size_t)weight->inputs * sizeof(float);
        if (bytes > 0) {
            CLF__TRY(clf__buffer_write(weight->buffer, offset, bytes, parts[i].data));
        }
        offset += bytes;
    }
    return CLF_OK;
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

clf_status clf__weight_allocate(struct clf__weight **out, struct clf_device *device, clf_precision precision,
                                int outputs, int inputs, const char *what)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__allocate(&weight, 1, sizeof *weight));
    weight->device = device;
    weight->precision = precision;
    weight->inputs = inputs;
    weight->outputs = outputs;
    /* CLBlast serves fp32; everything else is the native kernels'. */
    int is_row_major = clf__device_caps(device)->gemm == CLF_GEMM_CLBLAST && precision == CLF_PRECISION_FP32;
    weight->panel = is_row_major ? 1 : CLF__PANEL;
    size_t bytes = is_row_major ? (size_t)outputs * (size_t)inputs * sizeof(float)
                                : clf__weight_bytes(precision, outputs, inputs);
    clf_status status = clf__buffer_create_streamed(&weight->buffer, device, bytes, what);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
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
    clf_status status = weight->panel == 1 ? write_rows(weight, source->parts, source->part_count)
                                           : write_panels(weight, source->parts, source->part_count);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}
