/* The panel layout of weights for the native kernels. */
#include <string.h>

#include "base/memory.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"

/* Bytes that are packed at a time, few enough to stay in a cache. */
enum { STAGING_BYTES = 1 << 20 };

/* Returns the size in bytes of one panel: the inputs of CLF__PANEL outputs, and the tail. */
static size_t panel_bytes(const struct clf__packing *packing, int inputs)
{
    return clf__packed_inputs(packing, inputs) * CLF__PANEL * packing->bytes + packing->tail;
}

size_t clf__panels_bytes(const struct clf__packing *packing, int outputs, int inputs)
{
    return clf__ceil_divide((size_t)outputs, CLF__PANEL) * panel_bytes(packing, inputs);
}

static const struct clf__packing *packing_of(const struct clf__weight *weight)
{
    return weight->backend->packing(weight->precision);
}

/* The state of packing: the rows read at a time and their panels. */
struct packer {
    struct clf__weight *weight;
    const struct clf__weight_stream *stream;
    int is_int8; /* the rows are int8 already */
    int at_once; /* rows at a time, a multiple of CLF__PANEL */
    void *values;
    float *factors; /* (at_once) */
    char *panels;
};

static clf_status read_rows(const struct packer *packer, int first, int count)
{
    const struct clf__weight_stream *stream = packer->stream;
    if (packer->is_int8) {
        return stream->read_int8(stream->user, first, count, packer->values, packer->factors);
    }
    CLF__TRY(stream->read(stream->user, first, count, packer->values));
    return clf__weight_check_values(stream, packer->values, (size_t)count * (size_t)stream->inputs);
}

/* Padding beyond the last row and the last input is zero. */
static void pack_rows(const struct packer *packer, int count)
{
    const struct clf__packing *packing = packing_of(packer->weight);
    int inputs = packer->weight->inputs;
    size_t bytes = panel_bytes(packing, inputs);
    memset(packer->panels, 0, clf__ceil_divide((size_t)count, CLF__PANEL) * bytes);
    for (int row = 0; row < count; row++) {
        char *panel = packer->panels + (size_t)(row / CLF__PANEL) * bytes;
        size_t place = (size_t)row * (size_t)inputs;
        if (packer->is_int8) {
            clf__pack_int8_row(packing, panel, row % CLF__PANEL, (const int8_t *)packer->values + place,
                               packer->factors[row], inputs);
        } else {
            packing->pack_row(packing, panel, row % CLF__PANEL, (const float *)packer->values + place,
                              inputs);
        }
    }
}

static clf_status write_all(const struct packer *packer)
{
    struct clf__weight *weight = packer->weight;
    size_t bytes = panel_bytes(packing_of(weight), weight->inputs);
    for (int first = 0; first < weight->outputs; first += packer->at_once) {
        int left = weight->outputs - first, count = left < packer->at_once ? left : packer->at_once;
        CLF__TRY(read_rows(packer, first, count));
        pack_rows(packer, count);
        CLF__TRY(clf__buffer_write(weight->buffer, (size_t)(first / CLF__PANEL) * bytes,
                                   clf__ceil_divide((size_t)count, CLF__PANEL) * bytes, packer->panels));
    }
    return CLF_OK;
}

clf_status clf__panels_write_stream(struct clf__weight *weight, const struct clf__weight_stream *stream)
{
    size_t bytes = panel_bytes(packing_of(weight), weight->inputs);
    size_t total = clf__ceil_divide((size_t)weight->outputs, CLF__PANEL), chunk = STAGING_BYTES / bytes;
    chunk = chunk == 0 ? 1 : chunk < total ? chunk : total;
    struct packer packer = {.weight = weight, .stream = stream, .at_once = (int)chunk * CLF__PANEL};
    packer.is_int8 = weight->precision == CLF__PRECISION_INT8 && stream->read_int8 != NULL;
    size_t values = (size_t)packer.at_once * (size_t)weight->inputs;
    clf_status status =
        clf__resize(&packer.panels, chunk, bytes); /* pack_rows() zeroes all unused elements */
    if (status == CLF_OK) {
        status = clf__resize(&packer.values, values, packer.is_int8 ? 1 : sizeof(float));
    }
    if (status == CLF_OK) {
        status = clf__resize(&packer.factors, (size_t)packer.at_once, sizeof *packer.factors);
    }
    if (status == CLF_OK) {
        status = write_all(&packer);
    }
    clf__free(packer.factors);
    clf__free(packer.values);
    clf__free(packer.panels);
    return status;
}

/* Rows first .. end - 1, all in the panel of `first`. */
struct panel_rows {
    size_t offset, bytes; /* offset of the panel in the weight's buffer */
    int lane, count;
    int is_whole; /* the panel has no other rows */
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

static clf_status change_panels(struct clf__weight *weight, int first, int end, float *panel,
                                const float *source)
{
    const struct clf__packing *packing = clf__packing_of(CLF__PRECISION_FP32);
    while (first < end) {
        struct panel_rows rows = rows_of_panel(weight, first, end);
        if (rows.is_whole) {
            memset(panel, 0, rows.bytes);
        } else {
            CLF__TRY(clf__buffer_read(weight->buffer, rows.offset, rows.bytes, panel));
        }
        for (int i = 0; i < rows.count; i++, source += weight->inputs) {
            packing->pack_row(packing, panel, rows.lane + i, source, weight->inputs);
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

clf_status clf__panels_read(const struct clf__weight *weight, int first, int count, float *target)
{
    float *panel = NULL;
    CLF__TRY(clf__allocate(&panel, (size_t)weight->inputs * CLF__PANEL, sizeof *panel));
    clf_status status = read_panels(weight, first, first + count, panel, target);
    clf__free(panel);
    return status;
}

clf_status clf__panels_write(struct clf__weight *weight, int first, int count, const float *source)
{
    if (count == 1) {
        return write_row(weight, first, source);
    }
    float *panel = NULL;
    CLF__TRY(clf__allocate(&panel, (size_t)weight->inputs * CLF__PANEL, sizeof *panel));
    clf_status status = change_panels(weight, first, first + count, panel, source);
    clf__free(panel);
    return status;
}
