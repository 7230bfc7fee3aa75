#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/program/launch.h"

enum { BATCHED_TILE = 32 }; /* tile of the GPU variant of gemm_batched.cl */

/* The macros of cl/gemm/gemm.cl. */
static const char *gemm_defines(enum clf__precision precision, enum clf__activation activation,
                                enum clf__precision result)
{
#define OF_ACTIVATION(options, a) options " -DACTIVATION=" #a
#define OF_PRECISION(options)                                                                                \
    {                                                                                                        \
        OF_ACTIVATION(options, 0), OF_ACTIVATION(options, 1), OF_ACTIVATION(options, 2),                     \
            OF_ACTIVATION(options, 3), OF_ACTIVATION(options, 4)                                             \
    }
    static const char *const defines[][5] = {OF_PRECISION("-DPRECISION=0"), OF_PRECISION("-DPRECISION=1"),
                                             OF_PRECISION("-DPRECISION=2")};
    static const char *const to_bf16[5] = OF_PRECISION("-DPRECISION=2 -DRESULT_PRECISION=2");
    return result == CLF__PRECISION_BF16 ? to_bf16[activation] : defines[precision][activation];
}

/* A kernel of the GPU variant, and the rows and columns that a group computes. */
struct gpu_kernel {
    const char *name;
    size_t rows, columns;
};

/* The kernels of a GEMM with a weight. */
struct kernels {
    const char *cpu;
    struct gpu_kernel skinny, tile;
};

static size_t count_groups(const struct gpu_kernel *kernel, int rows, const struct clf__weight *weight)
{
    return clf__ceil_divide((size_t)rows, kernel->rows) *
           clf__ceil_divide((size_t)weight->outputs, kernel->columns);
}

/* Chooses between large tiles, which read less memory, and the kernel for few rows: with far fewer tiles
 * than compute units, as in a decoding step of a few dozen sentences, most of a large device would be
 * idle. Both kernels give the same bits. */
static struct clf__grid choose_gpu(const struct kernels *kernels, int rows, const struct clf__weight *weight)
{
    const struct clf__caps *caps = clf__device_caps(weight->device);
    int is_skinny = rows <= caps->tuning.values[CLF__TUNABLE_SKINNY_ROWS + weight->precision] ||
                    2 * count_groups(&kernels->tile, rows, weight) < caps->compute_units;
    const struct gpu_kernel *kernel = is_skinny ? &kernels->skinny : &kernels->tile;
    return (struct clf__grid){.kernel = kernel->name,
                              .groups = {clf__ceil_divide((size_t)weight->outputs, kernel->columns),
                                         clf__ceil_divide((size_t)rows, kernel->rows)},
                              .local = {CLF__TILE_GROUP}};
}

/* Launches a GEMM. A group of the CPU variant computes `block` rows. The caller has set the program, macros
 * and arguments. */
static clf_status launch_product(struct clf__launch launch, const struct kernels *kernels, int rows,
                                 size_t block, const struct clf__weight *weight,
                                 const struct clf__epilogue *epilogue)
{
    launch.cpu =
        (struct clf__grid)CLF__GRID(kernels->cpu, clf__ceil_divide((size_t)weight->outputs, CLF__PANEL),
                                    clf__ceil_divide((size_t)rows, block));
    launch.gpu = choose_gpu(kernels, rows, weight);
    launch.cost = clf__weight_cost(rows, weight, epilogue);
    return clf__launch(weight->device, &launch);
}

static size_t rows_per_group(const struct clf__weight *weight, int rows, size_t row_bytes)
{
    return clf__cpu_rows_per_group((size_t)rows, row_bytes,
                                   clf__ceil_divide((size_t)weight->outputs, CLF__PANEL),
                                   clf__device_caps(weight->device));
}

static clf_status multiply_int8(struct clf__matrix y, struct clf__matrix x, int rows,
                                const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    static const struct kernels kernels = {"gemm_int8_cpu",
                                           {"gemm_int8_skinny_gpu", CLF__SKINNY_ROWS, CLF__PANEL},
                                           {"gemm_int8_tile_gpu", CLF__TILE, CLF__TILE}};
    size_t block = rows_per_group(weight, rows, (size_t)weight->inputs);
    struct clf__activations packed;
    CLF__TRY(clf__activations_pack(&packed, weight->device, x, rows, weight->inputs, CLF__PRECISION_INT8));
    const struct clf__argument arguments[] = {
        CLF__MATRIX(y),
        CLF__BUFFER(packed.buffer),
        CLF__INT(packed.pitch),
        CLF__INT(rows),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
        CLF__INT(weight->outputs),
        CLF__EPILOGUE(epilogue),
    };
    const struct clf__launch launch = {.program = "gemm_int8",
                                       .defines = clf__activation_define(epilogue->activation),
                                       CLF__ARGUMENTS(arguments)};
    return launch_product(launch, &kernels, rows, block, weight, epilogue);
}

static clf_status multiply(struct clf__matrix y, struct clf__matrix x, int rows,
                           const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    static const struct kernels kernels = {"gemm_weight_cpu",
                                           {"gemm_weight_skinny_gpu", CLF__SKINNY_ROWS, CLF__PANEL},
                                           {"gemm_weight_tile_gpu", CLF__TILE, CLF__TILE}};
    if (weight->precision == CLF__PRECISION_INT8) {
        return multiply_int8(y, x, rows, weight, epilogue);
    }
    size_t row_bytes = (size_t)weight->inputs * sizeof(float);
    if (x.precision == CLF__PRECISION_BF16) {
        x.offset /= 2; /* the kernel counts pairs */
        x.stride /= 2;
        row_bytes /= 2;
    } else if (clf__activations_are_packed(weight->device, weight->precision)) {
        struct clf__activations packed;
        CLF__TRY(clf__activations_pack(&packed, weight->device, x, rows, weight->inputs, weight->precision));
        x = (struct clf__matrix){.buffer = packed.buffer, .stride = packed.pitch / 4};
        row_bytes = (size_t)packed.pitch;
    } else if (weight->inputs > CLF__WHOLE_INPUTS(clf__device_caps(weight->device)->level->lanes)) {
        row_bytes = 0; /* with slices, rows are not kept in the cache for the next panel */
    }
    size_t block = rows_per_group(weight, rows, row_bytes);
    const struct clf__argument arguments[] = {
        CLF__MATRIX(y),           CLF__MATRIX(x),
        CLF__INT(rows),           CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs), CLF__INT(weight->outputs),
        CLF__EPILOGUE(epilogue),
    };
    const struct clf__launch launch = {.program = "gemm",
                                       .defines =
                                           gemm_defines(weight->precision, epilogue->activation, y.precision),
                                       CLF__ARGUMENTS(arguments)};
    return launch_product(launch, &kernels, rows, block, weight, epilogue);
}

static clf_status multiply_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                   struct clf__batched_matrix b, const struct clf__batched_shape *shape)
{
    struct clf_device *device = clf__buffer_device(c.matrix.buffer);
    const struct clf__caps *caps = clf__device_caps(device);
    size_t batches = (size_t)shape->batches, m = (size_t)shape->m, n = (size_t)shape->n;
    size_t panels = clf__ceil_divide(n, CLF__PANEL);
    size_t block = clf__cpu_rows_per_group(m, (size_t)shape->k * sizeof(float), batches * panels, caps);
    const struct clf__argument arguments[] = {
        CLF__MATRIX(c.matrix),    CLF__INT((int)c.batch_stride),
        CLF__MATRIX(a.matrix),    CLF__INT((int)a.batch_stride),
        CLF__MATRIX(b.matrix),    CLF__INT((int)b.batch_stride),
        CLF__INT(shape->m),       CLF__INT(shape->n),
        CLF__INT(shape->k),       CLF__INT(shape->transpose_b != 0),
        CLF__FLOAT(shape->alpha), CLF__CPU_INT((int)block),
    };
    const struct clf__launch launch = {
        .program = "gemm_batched",
        .cpu = CLF__GRID("gemm_batched_cpu", batches, panels, clf__ceil_divide(m, block)),
        .gpu = CLF__GRID("gemm_batched_gpu", batches, clf__ceil_divide(n, BATCHED_TILE),
                         clf__ceil_divide(m, BATCHED_TILE)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__batched_cost(shape),
    };
    return clf__launch(device, &launch);
}

static size_t weight_bytes(enum clf__precision precision, int outputs, int inputs)
{
    return clf__panels_bytes(clf__packing_of(precision), outputs, inputs);
}

const struct clf__gemm_backend clf__gemm_native = {
    .panel = CLF__PANEL,
    .rounds_weights = 1,
    .packing = clf__packing_of,
    .weight_bytes = weight_bytes,
    .write_stream = clf__panels_write_stream,
    .read_rows = clf__panels_read,
    .write_rows = clf__panels_write,
    .multiply = multiply,
    .multiply_batched = multiply_batched,
    .input_gradient = clf__native_input_gradient,
    .weight_gradient = clf__native_weight_gradient,
    .reserve_gradients = clf__native_reserve_gradients,
};
