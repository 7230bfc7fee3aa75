/* Weights as the native kernels have them: in panels. */
#include <string.h>

#include "base/memory.h"
#include "device/buffer.h"
#include "gemm/provider.h"

/* How much of a weight is packed at a time: so little that it stays in a cache on its way to the device. */
enum { STAGING_BYTES = 1 << 20 };

/* Bytes of one panel: its groups of inputs for CLF__PANEL outputs, and its tail. */
static size_t panel_bytes(clf_precision precision, int inputs)
{
    const struct clf__packing *packing = clf__packing_of(precision);
    size_t group = (size_t)packing->group;
    return clf__ceil_divide((size_t)inputs, group) * group * CLF__PANEL * packing->bytes + packing->tail;
}

size_t clf__weight_bytes(clf_precision precision, int outputs, int inputs)
{
    return clf__ceil_divide((size_t)outputs, CLF__PANEL) * panel_bytes(precision, inputs);
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

clf_status clf__panels_write_parts(struct clf__weight *weight, const struct clf__weight_part *parts,
                                   int part_count)
{
    size_t bytes = panel_bytes(weight->precision, weight->inputs);
    size_t total = clf__ceil_divide((size_t)weight->outputs, CLF__PANEL);
    size_t chunk = STAGING_BYTES / bytes;
    chunk = chunk == 0 ? 1 : chunk < total ? chunk : total;
    char *staging = NULL;
    CLF__TRY(clf__resize(&staging, chunk, bytes)); /* as pack_panel() zeroes what it does not fill */
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

static clf_status change_panels(struct clf__weight *weight, int first, int end, float *panel,
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
