/* Weights that are trained: made of zeros, read and written by rows, whatever their layout. */
#include <string.h>

#include "base/memory.h"
#include "device/buffer.h"
#include "device/device.h"
#include "device/gemm.h"
#include "device/gemm_provider.h"
#include "device/launch.h"

clf_status clf__weight_create_zero(struct clf__weight **out, struct clf_device *device, int outputs,
                                   int inputs, const char *what)
{
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__weight_check(outputs, inputs, CLF_PRECISION_FP32, what));
    CLF__TRY(clf__weight_allocate(&weight, device, CLF_PRECISION_FP32, outputs, inputs, what));
    clf_status status = clf__buffer_fill(weight->buffer, 0, clf__buffer_bytes(weight->buffer), 0.0f);
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}

size_t clf__weight_elements(const struct clf__weight *weight)
{
    return clf__buffer_bytes(weight->buffer) / sizeof(float);
}

static clf_status check_rows(const struct clf__weight *weight, int first, int count)
{
    if (weight->precision != CLF_PRECISION_FP32) {
        return clf__fail(CLF_BAD_ARGUMENT, "rows of a weight in precision %d; only fp32 is read and written",
                         (int)weight->precision);
    }
    if (first < 0 || count < 0 || count > weight->outputs - first) {
        return clf__fail(CLF_BAD_ARGUMENT, "%d rows from row %d on of a weight of %d outputs", count, first,
                         weight->outputs);
    }
    return CLF_OK;
}

/* The rows first .. end - 1 that lie in the panel of `first`. */
struct panel_rows {
    size_t offset, bytes; /* of the panel, in the weight's buffer */
    int lane, count;
    int is_whole; /* they are all that the panel has */
};

static struct panel_rows rows_of_panel(const struct clf__weight *weight, int first, int end)
{
    size_t bytes = (size_t)weight->inputs * CLF__PANEL * sizeof(float);
    int lane = first % CLF__PANEL, start = first - lane;
    int panel_end = weight->outputs - start < CLF__PANEL ? weight->outputs : start + CLF__PANEL;
    int count = (end < panel_end ? end : panel_end) - first;
    return (struct panel_rows){.offset = (size_t)(start / CLF__PANEL) * bytes,
                               .bytes = bytes,
                               .lane = lane,
                               .count = count,
                               .is_whole = lane == 0 && first + count == panel_end};
}

static clf_status read_panels(const struct clf__weight *weight, int first, int end, float *panel,
                              float *target)
{
    size_t inputs = (size_t)weight->inputs;
    while (first < end) {
        struct panel_rows rows = rows_of_panel(weight, first, end);
        CLF__TRY(clf__buffer_read(weight->buffer, rows.offset, rows.bytes, panel));
        for (int i = 0; i < rows.count; i++, target += inputs) {
            for (size_t k = 0; k < inputs; k++) {
                target[k] = panel[k * CLF__PANEL + (size_t)(rows.lane + i)];
            }
        }
        first += rows.count;
    }
    return CLF_OK;
}

static clf_status write_panels(struct clf__weight *weight, int first, int end, float *panel,
                               const float *source)
{
    const struct clf__packing *packing = clf__packing_of(CLF_PRECISION_FP32);
    while (first < end) {
        struct panel_rows rows = rows_of_panel(weight, first, end);
        if (rows.is_whole) {
            memset(panel, 0, rows.bytes);
        } else {
            CLF__TRY(clf__buffer_read(weight->buffer, rows.offset, rows.bytes, panel));
        }
        for (int i = 0; i < rows.count; i++, source += weight->inputs) {
            packing->pack_row(panel, rows.lane + i, source, weight->inputs);
        }
        CLF__TRY(clf__buffer_write(weight->buffer, rows.offset, rows.bytes, panel));
        first += rows.count;
    }
    return CLF_OK;
}

static clf_status write_row(struct clf__weight *weight, int row, const float *source)
{
    struct panel_rows panel = rows_of_panel(weight, row, row + 1);
    size_t offset = panel.offset + (size_t)panel.lane * sizeof(float);
    return clf__buffer_scatter(weight->buffer, offset, CLF__PANEL * sizeof(float), weight->inputs, source);
}

/* A row-major weight has them as they are. */
static size_t bytes_of(const struct clf__weight *weight, int rows)
{
    return (size_t)rows * (size_t)weight->inputs * sizeof(float);
}

clf_status clf__weight_read(const struct clf__weight *weight, int first, int count, float *target)
{
    CLF__TRY(check_rows(weight, first, count));
    if (count == 0) {
        return CLF_OK;
    }
    if (weight->panel == 1) {
        return clf__buffer_read(weight->buffer, bytes_of(weight, first), bytes_of(weight, count), target);
    }
    float *panel = NULL;
    CLF__TRY(clf__allocate(&panel, (size_t)weight->inputs * CLF__PANEL, sizeof *panel));
    clf_status status = read_panels(weight, first, first + count, panel, target);
    clf__free(panel);
    return status;
}

clf_status clf__weight_write(struct clf__weight *weight, int first, int count, const float *source)
{
    CLF__TRY(check_rows(weight, first, count));
    if (count == 0) {
        return CLF_OK;
    }
    if (weight->panel == 1) {
        return clf__buffer_write(weight->buffer, bytes_of(weight, first), bytes_of(weight, count), source);
    }
    if (count == 1) {
        CLF__TRY(write_row(weight, first, source));
        return clf__weight_changed(weight);
    }
    float *panel = NULL;
    CLF__TRY(clf__allocate(&panel, (size_t)weight->inputs * CLF__PANEL, sizeof *panel));
    clf_status status = write_panels(weight, first, first + count, panel, source);
    clf__free(panel);
    return status == CLF_OK ? clf__weight_changed(weight) : status;
}

void clf__weight_free_copies(struct clf__weight *weight)
{
    if (weight->copies) {
        clf__weight_free(weight->copies->rounded);
        clf__free(weight->copies);
        weight->copies = NULL;
    }
}

clf_status clf__weight_multiply_in(struct clf__weight *weight, clf_precision precision)
{
    if (weight->precision != CLF_PRECISION_FP32 ||
        (precision != CLF_PRECISION_FP32 && precision != CLF_PRECISION_BF16)) {
        return clf__fail(CLF_UNSUPPORTED, "products in precision %d of a weight in precision %d",
                         (int)precision, (int)weight->precision);
    }
    if (precision == CLF_PRECISION_FP32) {
        clf__weight_free_copies(weight);
        return CLF_OK;
    }
    if (weight->panel == 1) {
        return clf__fail(CLF_UNSUPPORTED,
                         "CLBlast has no products in bf16 with weights in fp32 on device "
                         "%s; train in fp32, or with the native kernels "
                         "(CLFORMER_GEMM=native)",
                         weight->device->label);
    }
    return weight->copies ? CLF_OK : clf__allocate(&weight->copies, 1, sizeof *weight->copies);
}

static clf_status round_weight(struct clf__weight *rounded, const struct clf__weight *weight)
{
    enum { PAIRS = 32 }; /* a group of cl/round_weight.cl */
    const struct clf__argument arguments[] = {
        CLF__BUFFER(rounded->buffer),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
    };
    struct clf__launch launch = {
        .program = "round_weight",
        .kernel = "round_weight_cpu",
        .groups = {((size_t)weight->outputs + CLF__PANEL - 1) / CLF__PANEL},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments,
        .cost = {.bytes = 1.5 * (double)clf__buffer_bytes(weight->buffer)},
    };
    if (clf__device_caps(weight->device)->form == CLF_FORM_GPU) {
        launch.kernel = "round_weight_gpu";
        launch.groups[1] = ((size_t)weight->inputs + 2 * PAIRS - 1) / (2 * PAIRS);
        launch.local[0] = CLF__GROUP;
    }
    return clf__launch(weight->device, &launch);
}

clf_status clf__weight_rounded(const struct clf__weight **out, const struct clf__weight *weight)
{
    struct clf__weight_copies *copies = weight->copies;
    if (copies->rounded == NULL) {
        struct clf__weight *rounded = NULL;
        CLF__TRY(clf__weight_allocate(&rounded, weight->device, CLF_PRECISION_BF16, weight->outputs,
                                      weight->inputs, "a weight's copy in bf16"));
        clf_status status = round_weight(rounded, weight);
        if (status != CLF_OK) {
            clf__weight_free(rounded);
            return status;
        }
        copies->rounded = rounded;
    }
    *out = copies->rounded;
    return CLF_OK;
}

clf_status clf__weight_prepare(struct clf__weight *weight)
{
    const struct clf__weight *rounded;
    return weight->copies ? clf__weight_rounded(&rounded, weight) : CLF_OK;
}

clf_status clf__weight_changed(struct clf__weight *weight)
{
    int is_read = weight->copies && weight->copies->rounded;
    return is_read ? round_weight(weight->copies->rounded, weight) : CLF_OK;
}
