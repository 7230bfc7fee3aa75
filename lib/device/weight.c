#include <limits.h>

#include "base/memory.h"
#include "device/buffer.h"
#include "device/caps.h"
#include "device/gemm.h"
#include "device/gemm_provider.h"

/* How much of a weight is packed at a time, so that the host never holds a second copy of it. */
enum { STAGING_BYTES = 1 << 22 };

size_t clf__weight_bytes(int outputs, int inputs)
{
    size_t panels = ((size_t)outputs + CLF__PANEL - 1) / CLF__PANEL;
    return panels * CLF__PANEL * (size_t)inputs * sizeof(float);
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
    return (struct clf__weight_layout){.buffer = weight->buffer, .panel = weight->panel};
}

void clf__weight_free(struct clf__weight *weight)
{
    if (weight) {
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

/* One panel (inputs, CLF__PANEL) from the next rows; the lanes beyond the last row are zero. */
static void pack_panel(float *panel, struct row_reader *reader, int inputs)
{
    for (int lane = 0; lane < CLF__PANEL; lane++) {
        const float *row = next_row(reader, inputs);
        for (int k = 0; k < inputs; k++) {
            panel[(size_t)k * CLF__PANEL + (size_t)lane] = row ? row[k] : 0.0f;
        }
    }
}

static clf_status write_panels(struct clf__weight *weight, const struct clf__weight_part *parts,
                               int part_count)
{
    size_t panel_floats = (size_t)weight->inputs * CLF__PANEL;
    size_t total = ((size_t)weight->outputs + CLF__PANEL - 1) / CLF__PANEL;
    size_t chunk = STAGING_BYTES / (panel_floats * sizeof(float));
    chunk = chunk == 0 ? 1 : chunk < total ? chunk : total;
    float *staging = NULL;
    CLF__TRY(clf__allocate(&staging, chunk * panel_floats, sizeof *staging));
    struct row_reader reader = {.part = parts, .part_count = part_count};
    clf_status status = CLF_OK;
    for (size_t first = 0; first < total && status == CLF_OK; first += chunk) {
        size_t count = total - first < chunk ? total - first : chunk;
        for (size_t i = 0; i < count; i++) {
            pack_panel(staging + i * panel_floats, &reader, weight->inputs);
        }
        status = clf__buffer_write(weight->buffer, first * panel_floats * sizeof(float),
                                   count * panel_floats * sizeof(float), staging);
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

clf_status clf__weight_create(struct clf__weight **out, struct clf_device *device, int inputs,
                              const struct clf__weight_part *parts, int part_count, const char *what)
{
    long long outputs = 0;
    for (int i = 0; i < part_count; i++) {
        outputs += parts[i].rows < 0 ? LLONG_MIN / 4 / part_count : parts[i].rows;
    }
    if (inputs < 1 || outputs < 1 || outputs > INT_MAX - CLF__PANEL) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: a weight of %lld outputs and %d inputs", what, outputs,
                         inputs);
    }
    struct clf__weight *weight = NULL;
    CLF__TRY(clf__allocate(&weight, 1, sizeof *weight));
    weight->device = device;
    weight->inputs = inputs;
    weight->outputs = (int)outputs;
    weight->panel = clf__device_caps(device)->gemm == CLF_GEMM_CLBLAST ? 1 : CLF__PANEL;
    size_t bytes = weight->panel == 1 ? (size_t)outputs * (size_t)inputs * sizeof(float)
                                      : clf__weight_bytes(weight->outputs, inputs);
    clf_status status = clf__buffer_create(&weight->buffer, device, bytes, what);
    if (status == CLF_OK) {
        status = weight->panel == 1 ? write_rows(weight, parts, part_count)
                                    : write_panels(weight, parts, part_count);
    }
    if (status != CLF_OK) {
        clf__weight_free(weight);
        return status;
    }
    *out = weight;
    return CLF_OK;
}
