#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

/* CPU variants: constants of gemm_weight_gradient.cl, the minimum number of blocks for which packing pays
 * off, the blocks per group of the packing kernel, the rows that share a transposed panel of W, and the
 * bytes packed at a time. */
enum { DEPTH = 128, SLICE_END = 16 };
enum { LEAST_BLOCKS = 4, BLOCKS_A_GROUP = 32, MOST_ROWS = 512, PACKED_BYTES = 1 << 21 };

static const char *defines_of(enum clf__precision precision)
{
    return precision == CLF__PRECISION_BF16 ? "-DPRECISION=2" : "-DPRECISION=0";
}

/* Returns the number of rows that are interleaved in the packed operand of gemm_weight_gradient.cl. */
static int together(enum clf__precision precision)
{
    return clf__packing_of(precision)->group;
}

/* Returns the number of rows of x to pack at a time: few enough to stay in a cache. */
static int packed_rows(int rows, int inputs, enum clf__precision precision)
{
    int slice = DEPTH * together(precision);
    int most = PACKED_BYTES / (int)clf__packing_of(precision)->bytes / inputs / slice * slice;
    most = most < slice ? slice : most;
    return rows < most ? rows : most;
}

/* Returns the number of rows, or inputs, of a register block. */
static size_t block_of(const struct clf_device *device)
{
    return (size_t)device->caps.level->block_rows;
}

static size_t packed_bytes(const struct clf_device *device, int rows, int inputs,
                           enum clf__precision precision)
{
    size_t slices =
        clf__ceil_divide((size_t)packed_rows(rows, inputs, precision), DEPTH * (size_t)together(precision));
    size_t slice = DEPTH * block_of(device) + SLICE_END;
    return slices * clf__ceil_divide((size_t)inputs, block_of(device)) * slice * sizeof(float);
}

clf_status clf__native_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                         enum clf__precision precision)
{
    if (device->caps.variant == CLF_VARIANT_GPU) {
        int is_matrix = precision == CLF__PRECISION_BF16 && clf__caps_use_matrix(&device->caps, precision);
        const struct clf__packing *packing =
            is_matrix ? clf__matrix_packing_of(precision) : clf__packing_of(precision);
        if (is_matrix) {
            CLF__TRY(clf__matrix_reserve_gradient(device, rows, outputs, inputs));
        }
        return clf__transposed_reserve(device, clf__panels_bytes(packing, inputs, outputs));
    }
    CLF__TRY(clf__gemm_reserve(device, rows, outputs, precision));
    return clf__activations_reserve(device, packed_bytes(device, rows, inputs, precision));
}

/* Transposes a weight into the device's scratch memory. */
static clf_status transpose(struct clf__weight *out, const struct clf__weight *weight)
{
    struct clf_device *device = weight->device;
    enum clf__precision precision = clf__gemm_precision(weight);
    const struct clf__gemm_backend *backend =
        precision == CLF__PRECISION_BF16 ? weight->bf16_backend : weight->backend;
    size_t bytes = backend->weight_bytes(precision, weight->inputs, weight->outputs);
    CLF__TRY(clf__transposed_reserve(device, bytes));
    const struct clf__argument arguments[] = {
        CLF__BUFFER(device->transposed),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
        CLF__INT(weight->outputs),
    };
    const struct clf__launch launch = {
        .program = "gemm_input_gradient",
        .defines = defines_of(precision),
        .gpu = CLF__GRID("transpose_weight_gpu", clf__ceil_divide((size_t)weight->inputs, CLF__PANEL),
                         clf__ceil_divide((size_t)weight->outputs, CLF__PANEL)),
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes = (double)(clf__buffer_bytes(weight->buffer) + bytes)},
    };
    CLF__TRY(clf__launch(device, &launch));
    *out = (struct clf__weight){
        .device = device,
        .buffer = device->transposed,
        .precision = precision,
        .inputs = weight->outputs,
        .outputs = weight->inputs,
        .backend = backend,
    };
    return CLF_OK;
}

static clf_status multiply_on_gpu(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                  const struct clf__weight *weight, float scale, struct clf__matrix residual)
{
    struct clf__weight transposed;
    CLF__TRY(transpose(&transposed, weight));
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = scale;
    epilogue.residual = residual;
    return clf__gemm_multiply(dx, dy, rows, &transposed, &epilogue);
}

static size_t groups_wanted(const struct clf__caps *caps)
{
    return ((size_t)caps->tuning.values[CLF__TUNABLE_CPU_GROUPS] * caps->compute_units + 1) / 2;
}

static clf_status multiply_on_cpu(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                  const struct clf__weight *weight, float scale, struct clf__matrix residual)
{
    struct clf_device *device = weight->device;
    enum clf__precision precision = clf__gemm_precision(weight);
    if (precision == CLF__PRECISION_BF16) {
        struct clf__activations packed;
        CLF__TRY(clf__activations_pack(&packed, device, dy, rows, weight->outputs, precision));
        dy = (struct clf__matrix){.buffer = packed.buffer, .stride = packed.pitch / 4};
    }
    size_t row_groups = clf__ceil_divide((size_t)rows, MOST_ROWS);
    size_t block = block_of(device);
    size_t share = clf__ceil_divide(clf__ceil_divide((size_t)rows, row_groups), block) * block;
    size_t panels = clf__ceil_divide((size_t)weight->inputs, CLF__PANEL);
    /* Use few groups, because each reads all of its rows of dy, which exceed the caches if there are many
     * outputs. */
    size_t groups = clf__ceil_divide(groups_wanted(&device->caps), 2);
    size_t panel_share = clf__ceil_divide(panels, clf__ceil_divide(groups, row_groups));
    struct clf__cost cost = clf__weight_cost(rows, weight, NULL);
    cost.precision = precision;
    const struct clf__argument arguments[] = {
        CLF__MATRIX(dx),          CLF__MATRIX(dy),
        CLF__INT(rows),           CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs), CLF__INT(weight->outputs),
        CLF__FLOAT(scale),        CLF__MATRIX(residual),
        CLF__INT((int)share),     CLF__INT((int)panel_share),
    };
    const struct clf__launch launch = {
        .program = "gemm_input_gradient",
        .defines = defines_of(precision),
        .cpu = CLF__GRID("input_gradient_cpu", clf__ceil_divide(panels, panel_share),
                         clf__ceil_divide((size_t)rows, share)),
        CLF__ARGUMENTS(arguments),
        .cost = cost,
    };
    return clf__launch(device, &launch);
}

clf_status clf__native_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                      const struct clf__weight *weight, float scale,
                                      struct clf__matrix residual)
{
    return weight->device->caps.variant == CLF_VARIANT_GPU
               ? multiply_on_gpu(dx, dy, rows, weight, scale, residual)
               : multiply_on_cpu(dx, dy, rows, weight, scale, residual);
}

/* Packs rows first .. first + rows - 1 of x into the device's scratch memory, in the layout that
 * weight_gradient_cpu reads. */
static clf_status pack_rows(struct clf_device *device, struct clf__matrix x, int first, int rows, int inputs,
                            enum clf__precision precision)
{
    CLF__TRY(clf__activations_reserve(device, packed_bytes(device, rows, inputs, precision)));
    const struct clf__argument arguments[] = {
        CLF__BUFFER(device->packed), CLF__MATRIX(x), CLF__INT(first), CLF__INT(rows), CLF__INT(inputs),
        CLF__INT(BLOCKS_A_GROUP),
    };
    const struct clf__launch launch = {
        .program = "gemm_weight_gradient",
        .defines = defines_of(precision),
        .cpu = CLF__GRID("pack_rows_cpu", clf__ceil_divide((size_t)rows, DEPTH * (size_t)together(precision)),
                         clf__ceil_divide((size_t)inputs, BLOCKS_A_GROUP * block_of(device))),
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes =
                     (double)rows * inputs * (double)(sizeof(float) + clf__packing_of(precision)->bytes)},
    };
    return clf__launch(device, &launch);
}

/* Adds the contribution of the packed rows first .. first + rows - 1. */
static clf_status add_rows(struct clf__weight *dweight, struct clf__matrix dy, int first, int rows,
                           float scale)
{
    struct clf_device *device = dweight->device;
    size_t panels = clf__ceil_divide((size_t)dweight->outputs, CLF__PANEL);
    size_t blocks = clf__ceil_divide((size_t)dweight->inputs, block_of(device));
    size_t share = clf__ceil_divide(blocks, clf__ceil_divide(groups_wanted(&device->caps), panels));
    share = share < LEAST_BLOCKS ? LEAST_BLOCKS : share;
    const struct clf__argument arguments[] = {
        CLF__BUFFER(dweight->buffer),
        CLF__MATRIX(dy),
        CLF__BUFFER(device->packed),
        CLF__INT(first),
        CLF__INT(rows),
        CLF__INT(dweight->inputs),
        CLF__INT(dweight->outputs),
        CLF__FLOAT(scale),
        CLF__INT((int)share),
    };
    const struct clf__launch launch = {
        .program = "gemm_weight_gradient",
        .defines = defines_of(clf__gemm_precision(dweight)),
        .cpu = CLF__GRID("weight_gradient_cpu", panels, clf__ceil_divide(blocks, share)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__gradient_cost(rows, dweight),
    };
    return clf__launch(device, &launch);
}

static clf_status add_on_cpu(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                             int rows, float scale)
{
    enum clf__precision precision = clf__gemm_precision(dweight);
    int most = packed_rows(rows, dweight->inputs, precision);
    for (int first = 0; first < rows; first += most) {
        int count = rows - first < most ? rows - first : most;
        CLF__TRY(pack_rows(dweight->device, x, first, count, dweight->inputs, precision));
        CLF__TRY(add_rows(dweight, dy, first, count, scale));
    }
    return CLF_OK;
}

static clf_status add_on_gpu(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                             int rows, float scale)
{
    enum clf__precision precision = clf__gemm_precision(dweight);
    if (precision == CLF__PRECISION_BF16 && clf__caps_use_matrix(&dweight->device->caps, precision)) {
        return clf__matrix_weight_gradient(dweight, dy, x, rows, scale);
    }
    const struct clf__argument arguments[] = {
        CLF__BUFFER(dweight->buffer),
        CLF__MATRIX(dy),
        CLF__MATRIX(x),
        CLF__INT(rows),
        CLF__INT(dweight->inputs),
        CLF__INT(dweight->outputs),
        CLF__FLOAT(scale),
    };
    const struct clf__launch launch = {
        .program = "gemm_weight_gradient",
        .defines = defines_of(precision),
        .gpu = {.kernel = "weight_gradient_gpu",
                .groups = {clf__ceil_divide((size_t)dweight->inputs, CLF__TILE),
                           clf__ceil_divide((size_t)dweight->outputs, CLF__TILE)},
                .local = {CLF__TILE_GROUP}},
        CLF__ARGUMENTS(arguments),
        .cost = clf__gradient_cost(rows, dweight),
    };
    return clf__launch(dweight->device, &launch);
}

clf_status clf__native_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy,
                                       struct clf__matrix x, int rows, float scale)
{
    return dweight->device->caps.variant == CLF_VARIANT_GPU ? add_on_gpu(dweight, dy, x, rows, scale)
                                                            : add_on_cpu(dweight, dy, x, rows, scale);
}
