#include "device/buffer.h"
#include "device/device.h"
#include "device/gemm_provider.h"
#include "device/launch.h"
#include "device/operand.h"

/* Of the CPU forms: inputs of a register block, floats of a cache line, the fewest blocks worth a copy of the
 * other operand, and how much a group of a copying kernel takes. */
enum { BLOCK = 8, LINE = 16, LEAST_BLOCKS = 4, ROWS_A_GROUP = 64, PANELS_A_GROUP = 8 };

/* Of the GPU form of gemm_gradient.cl. */
enum { TILE = 64 };

static size_t ceil_divide(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static clf_status reserve_transposed(struct clf_device *device, size_t bytes)
{
    if (device->transposed != NULL && clf__buffer_bytes(device->transposed) >= bytes) {
        return CLF_OK;
    }
    clf__buffer_free(device->transposed);
    device->transposed = NULL;
    return clf__buffer_create(&device->transposed, device, bytes, "a transposed weight");
}

/* Of one block of the packed operand, in floats: an odd number of cache lines, so that blocks fall on
 * different sets. */
static size_t pitch_of(int rows)
{
    size_t lines = ceil_divide((size_t)rows * BLOCK, LINE);
    return (lines + (lines % 2 == 0)) * LINE;
}

static size_t packed_bytes(int rows, int inputs)
{
    return ceil_divide((size_t)inputs, BLOCK) * pitch_of(rows) * sizeof(float);
}

clf_status clf__native_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs)
{
    CLF__TRY(reserve_transposed(device, clf__weight_bytes(CLF_PRECISION_FP32, inputs, outputs)));
    return device->caps.form == CLF_FORM_CPU ? clf__operand_reserve(device, packed_bytes(rows, inputs))
                                             : CLF_OK;
}

/* *out: the transpose of a weight, as a weight of its own in the device's scratch memory. */
static clf_status transpose(struct clf__weight *out, const struct clf__weight *weight)
{
    struct clf_device *device = weight->device;
    size_t bytes = clf__weight_bytes(CLF_PRECISION_FP32, weight->inputs, weight->outputs);
    CLF__TRY(reserve_transposed(device, bytes));
    const struct clf__argument arguments[] = {
        CLF__BUFFER(device->transposed), CLF__BUFFER(weight->buffer), CLF__INT(weight->inputs),
        CLF__INT(weight->outputs),       CLF__INT(PANELS_A_GROUP), /* the CPU form's alone */
    };
    int count = sizeof arguments / sizeof *arguments;
    size_t columns = ceil_divide((size_t)weight->inputs, CLF__PANEL);
    size_t panels = ceil_divide((size_t)weight->outputs, CLF__PANEL);
    struct clf__launch launch = {
        .program = "transpose_weight",
        .kernel = "transpose_weight_cpu",
        .groups = {columns, ceil_divide(panels, PANELS_A_GROUP)},
        .arguments = arguments,
        .argument_count = count,
        .cost = {.bytes = 2.0 * (double)bytes},
    };
    if (device->caps.form == CLF_FORM_GPU) {
        launch.kernel = "transpose_weight_gpu";
        launch.groups[1] = panels;
        launch.local[0] = CLF__GROUP;
        launch.argument_count = count - 1;
    }
    CLF__TRY(clf__launch(device, &launch));
    *out = *weight;
    out->buffer = device->transposed;
    out->inputs = weight->outputs;
    out->outputs = weight->inputs;
    return CLF_OK;
}

clf_status clf__native_gemm_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                           const struct clf__weight *weight, float scale,
                                           struct clf__matrix residual)
{
    struct clf__weight transposed;
    CLF__TRY(transpose(&transposed, weight));
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = scale;
    epilogue.residual = residual;
    return clf__native_gemm_weight(dx, dy, rows, &transposed, &epilogue);
}

/* x in the device's scratch memory as weight_gradient_cpu reads it. */
static clf_status pack_operand(struct clf_device *device, struct clf__matrix x, int rows, int inputs)
{
    CLF__TRY(clf__operand_reserve(device, packed_bytes(rows, inputs)));
    const struct clf__argument arguments[] = {
        CLF__BUFFER(device->operand),
        CLF__INT((int)pitch_of(rows)),
        CLF__BUFFER(x.buffer),
        CLF__INT((int)x.offset),
        CLF__INT(x.stride),
        CLF__INT(rows),
        CLF__INT(inputs),
    };
    const struct clf__launch launch = {
        .program = "gemm_gradient",
        .kernel = "pack_operand_cpu",
        .defines = "-DPRECISION=0",
        .groups = {ceil_divide((size_t)rows, ROWS_A_GROUP)},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments,
        .cost = {.bytes = 2.0 * (double)rows * inputs * sizeof(float)},
    };
    return clf__launch(device, &launch);
}

static clf_status add_on_cpu(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                             int rows, float scale)
{
    struct clf_device *device = dweight->device;
    CLF__TRY(pack_operand(device, x, rows, dweight->inputs));
    size_t panels = ceil_divide((size_t)dweight->outputs, CLF__PANEL);
    size_t blocks = ceil_divide((size_t)dweight->inputs, BLOCK);
    size_t groups = (size_t)device->caps.tuning.values[CLF__KNOB_CPU_GROUPS] * device->caps.compute_units;
    size_t share = ceil_divide(blocks, ceil_divide(groups, panels));
    share = share < LEAST_BLOCKS ? LEAST_BLOCKS : share;
    const struct clf__argument arguments[] = {
        CLF__BUFFER(dweight->buffer),
        CLF__BUFFER(dy.buffer),
        CLF__INT((int)dy.offset),
        CLF__INT(dy.stride),
        CLF__BUFFER(device->operand),
        CLF__INT((int)pitch_of(rows)),
        CLF__INT(rows),
        CLF__INT(dweight->inputs),
        CLF__INT(dweight->outputs),
        CLF__FLOAT(scale),
        CLF__INT((int)share),
    };
    const struct clf__launch launch = {
        .program = "gemm_gradient",
        .kernel = "weight_gradient_cpu",
        .defines = "-DPRECISION=0",
        .groups = {panels, ceil_divide(blocks, share)},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments,
        .cost = clf__gradient_cost(rows, dweight),
    };
    return clf__launch(device, &launch);
}

static clf_status add_on_gpu(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                             int rows, float scale)
{
    const struct clf__argument arguments[] = {
        CLF__BUFFER(dweight->buffer), CLF__BUFFER(dy.buffer), CLF__INT((int)dy.offset),
        CLF__INT(dy.stride),          CLF__BUFFER(x.buffer),  CLF__INT((int)x.offset),
        CLF__INT(x.stride),           CLF__INT(rows),         CLF__INT(dweight->inputs),
        CLF__INT(dweight->outputs),   CLF__FLOAT(scale),
    };
    const struct clf__launch launch = {
        .program = "gemm_gradient",
        .kernel = "weight_gradient_gpu",
        .defines = "-DPRECISION=0",
        .groups = {ceil_divide((size_t)dweight->inputs, TILE), ceil_divide((size_t)dweight->outputs, TILE)},
        .local = {CLF__GROUP},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments,
        .cost = clf__gradient_cost(rows, dweight),
    };
    return clf__launch(dweight->device, &launch);
}

clf_status clf__native_gemm_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy,
                                            struct clf__matrix x, int rows, float scale)
{
    return dweight->device->caps.form == CLF_FORM_GPU ? add_on_gpu(dweight, dy, x, rows, scale)
                                                      : add_on_cpu(dweight, dy, x, rows, scale);
}
