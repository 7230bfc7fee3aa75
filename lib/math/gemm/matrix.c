/* GEMMs with the matrix instructions of GPUs (cl/gemm/gemm_matrix.cl), in all precisions except fp32. */
#include <stdio.h>

#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

/* The maximum number of work-items per group of gemm_matrix_rows.cl, and the warp width that the tiles
 * below assume. */
enum { MOST_ITEMS = 256, TILE_LANES = 32 };

/* The tiles of a group and of a warp in gemm_matrix.cl, largest first. A wider warp computes more columns.
 * Large tiles read less memory; small tiles occupy more compute units. */
struct tile {
    int rows, columns, warp_rows, warp_columns;
};
static const struct tile tiles[] = {{128, 128, 64, 32}, {64, 64, 32, 32}, {32, 64, 16, 32}, {32, 32, 16, 16}};
enum { TILES = sizeof tiles / sizeof *tiles };

/* Levels with few registers: a warp computes one row of instruction tiles, in one column if the sums of
 * chunks are separate, otherwise in two. */
enum { FIRST_SMALL_TILE = 1 };

static size_t count_tiles(const struct tile *tile, int rows, int outputs)
{
    return clf__ceil_divide((size_t)rows, (size_t)tile->rows) *
           clf__ceil_divide((size_t)outputs, (size_t)tile->columns);
}

/* Chooses the tile; NULL selects gemm_matrix_rows.cl. That kernel rereads W for every few rows, so the
 * smallest tile is preferred even if it leaves compute units idle. The choice does not change the results. */
static const struct tile *choose_tile(const struct clf__caps *caps, int rows, int outputs, int has_one_chunk)
{
    const struct clf__matrix_level *level = &caps->level->matrix;
    if (rows <= level->rows) {
        return NULL;
    }
    int first = !level->has_few_registers ? 0 : has_one_chunk ? FIRST_SMALL_TILE : TILES - 1;
    for (const struct tile *tile = tiles + first; tile < tiles + TILES; tile++) {
        int is_filled = rows > tile->rows / 2, is_last = tile + 1 == tiles + TILES;
        if (is_filled && count_tiles(tile, rows, outputs) * (is_last ? 4 : 1) >= caps->compute_units) {
            return tile;
        }
    }
    return NULL;
}

struct gemm {
    struct clf__matrix y, x;
    int rows;
    const struct clf__weight *weight;
    const struct clf__epilogue *epilogue;
    int is_gradient; /* y has the panel layout of an fp32 weight whose inputs are the rows of the GEMM */
};

static clf_status launch_gemm(const struct gemm *gemm, struct clf__launch launch)
{
    const struct clf__weight *weight = gemm->weight;
    const struct clf__epilogue *epilogue = gemm->epilogue;
    const struct clf__argument arguments[] = {
        CLF__MATRIX(gemm->y),
        CLF__INT(gemm->y.precision != CLF__PRECISION_FP32),
        CLF__BUFFER(gemm->x.buffer),
        CLF__INT((int)(gemm->x.offset / CLF__WORD_HALVES)),
        CLF__INT(gemm->x.stride / CLF__WORD_HALVES),
        CLF__INT(gemm->rows),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
        CLF__INT(weight->outputs),
        CLF__FLOAT(epilogue->scale),
        CLF__INT((int)epilogue->activation),
        CLF__BUFFER(epilogue->bias),
        CLF__MATRIX(epilogue->residual),
    };
    launch.arguments = arguments;
    launch.argument_count = sizeof arguments / sizeof *arguments;
    launch.cost = clf__weight_cost(gemm->rows, weight, epilogue);
    return clf__launch(weight->device, &launch);
}

static const struct clf__matrix_level *matrix_of(const struct clf__weight *weight)
{
    return &clf__device_caps(weight->device)->level->matrix;
}

/* One warp per chunk of K, up to MOST_ITEMS work-items. */
int clf__matrix_warps(const struct clf_device *device, enum clf__precision precision, int inputs)
{
    size_t chunk = (size_t)CLF__CHUNK_SLICES * CLF__MATRIX_INPUTS(precision);
    size_t chunks = clf__ceil_divide((size_t)inputs, chunk);
    int warps = 1, lanes = clf__device_caps(device)->level->matrix.lanes;
    while (2 * warps * lanes <= MOST_ITEMS && (size_t)warps < chunks) {
        warps *= 2;
    }
    return warps;
}

/* Returns whether chunks of K need no separate sums: there is only one, or integer sums are exact. */
static int has_one_chunk(const struct clf__weight *weight)
{
    return weight->precision == CLF__PRECISION_INT8 ||
           weight->inputs <= CLF__CHUNK_SLICES * CLF__MATRIX_INPUTS(weight->precision);
}

static clf_status multiply_few(const struct gemm *gemm)
{
    const struct clf__weight *weight = gemm->weight;
    const struct clf__matrix_level *level = matrix_of(weight);
    int warps = clf__matrix_warps(weight->device, weight->precision, weight->inputs);
    char defines[64];
    snprintf(defines, sizeof defines, "-DPRECISION=%d -DWARPS=%d", (int)weight->precision, warps);
    const struct clf__launch launch = {
        .program = "gemm_matrix_rows",
        .defines = defines,
        .gpu = {.kernel = "gemm_matrix_rows_gpu",
                .groups = {clf__ceil_divide((size_t)weight->outputs, (size_t)level->columns),
                           clf__ceil_divide((size_t)gemm->rows, (size_t)level->rows)},
                .local = {(size_t)(level->lanes * warps)}},
    };
    return launch_gemm(gemm, launch);
}

static clf_status multiply_tiles(const struct gemm *gemm, const struct tile *tile)
{
    const struct clf__weight *weight = gemm->weight;
    const struct clf__matrix_level *level = matrix_of(weight);
    int is_last = tile == tiles + TILES - 1, is_small = level->has_few_registers;
    int warp_rows = is_small ? level->rows : tile->warp_rows;
    int warp_columns =
        is_small ? (is_last ? 1 : 2) * level->columns : tile->warp_columns * level->lanes / TILE_LANES;
    int warps = tile->rows / warp_rows * (tile->columns / warp_columns);
    char defines[160];
    snprintf(defines, sizeof defines,
             "-DPRECISION=%d -DTILE_ROWS=%d -DTILE_COLUMNS=%d -DWARP_ROWS=%d -DWARP_COLUMNS=%d%s%s",
             (int)weight->precision, tile->rows, tile->columns, warp_rows, warp_columns,
             has_one_chunk(weight) ? " -DHAS_ONE_CHUNK" : "", gemm->is_gradient ? " -DY_IN_PANELS" : "");
    const struct clf__launch launch = {
        .program = "gemm_matrix",
        .defines = defines,
        .gpu = {.kernel = "gemm_matrix_gpu",
                .groups = {count_tiles(tile, gemm->rows, weight->outputs)},
                .local = {(size_t)(level->lanes * warps)}},
    };
    return launch_gemm(gemm, launch);
}

static clf_status multiply(struct clf__matrix y, struct clf__matrix x, int rows,
                           const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    struct gemm gemm = {.y = y, .x = x, .rows = rows, .weight = weight, .epilogue = epilogue};
    const struct tile *tile =
        choose_tile(clf__device_caps(weight->device), rows, weight->outputs, has_one_chunk(weight));
    if (x.precision == CLF__PRECISION_FP32) {
        struct clf__activations packed;
        CLF__TRY(clf__activations_pack(&packed, weight->device, x, rows, weight->inputs, weight->precision));
        /* The stride is in units of 16 bits, even in int8. */
        gemm.x = (struct clf__matrix){.buffer = packed.buffer,
                                      .stride = packed.pitch / (int)sizeof(uint16_t),
                                      .precision = weight->precision};
    }
    return tile == NULL ? multiply_few(&gemm) : multiply_tiles(&gemm, tile);
}

/* Writes the transpose of scale * x (rows, columns) in bf16, in rows of `words` words or in panels. */
static clf_status transpose(struct clf__buffer *out, const char *kernel, int words, struct clf__matrix x,
                            int rows, int columns, float scale)
{
    const struct clf__argument arguments[] = {
        CLF__BUFFER(out), CLF__INT(words),   CLF__MATRIX(x),
        CLF__INT(rows),   CLF__INT(columns), CLF__FLOAT(scale),
    };
    const struct clf__launch launch = {
        .program = "round_transposed",
        .defines = "-DPRECISION=2",
        .gpu = {.kernel = kernel,
                .groups = {clf__ceil_divide((size_t)columns, CLF__PANEL),
                           clf__ceil_divide((size_t)words, CLF__GROUP / CLF__PANEL)}},
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes = 6.0 * rows * columns},
    };
    return clf__launch(clf__buffer_device(out), &launch);
}

static int count_words(int rows)
{
    int inputs = CLF__MATRIX_INPUTS(CLF__PRECISION_BF16);
    return (rows + inputs - 1) / inputs * CLF__SLICE_WORDS;
}

/* Rows of a gradient that are transposed at a time. */
enum { GRADIENT_ROWS = 2048 };

clf_status clf__matrix_reserve_gradient(struct clf_device *device, int rows, int outputs, int inputs)
{
    size_t word_bytes = CLF__WORD_HALVES * sizeof(uint16_t);
    size_t bytes = (size_t)count_words(rows < GRADIENT_ROWS ? rows : GRADIENT_ROWS) * word_bytes;
    size_t panels = clf__ceil_divide((size_t)outputs, CLF__PANEL);
    CLF__TRY(clf__activations_reserve(device, bytes * (size_t)inputs));
    return clf__transposed_reserve(device, bytes * panels * CLF__PANEL);
}

/* dW += scale * dyᵀ x, as the transpose (inputs, outputs) of the product xᵀ dy. */
static clf_status add_rows(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x, int rows,
                           float scale)
{
    struct clf_device *device = dweight->device;
    int words = count_words(rows), inputs = dweight->inputs, outputs = dweight->outputs;
    CLF__TRY(transpose(device->packed, "transpose_rows_gpu", words, x, rows, inputs, 1.0f));
    CLF__TRY(transpose(device->transposed, "transpose_panels_gpu", words, dy, rows, outputs, scale));
    const struct clf__weight panels = {.device = device,
                                       .buffer = device->transposed,
                                       .precision = CLF__PRECISION_BF16,
                                       .inputs = rows,
                                       .outputs = outputs};
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.residual = (struct clf__matrix){.buffer = dweight->buffer, .stride = inputs * CLF__PANEL};
    const struct gemm gemm = {
        .y = epilogue.residual,
        .x = {.buffer = device->packed, .stride = words * CLF__WORD_HALVES, .precision = CLF__PRECISION_BF16},
        .rows = inputs,
        .weight = &panels,
        .epilogue = &epilogue,
        .is_gradient = 1,
    };
    const struct tile *tile = choose_tile(clf__device_caps(device), inputs, outputs, has_one_chunk(&panels));
    return multiply_tiles(&gemm, tile != NULL ? tile : tiles + TILES - 1);
}

clf_status clf__matrix_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy,
                                       struct clf__matrix x, int rows, float scale)
{
    CLF__TRY(clf__matrix_reserve_gradient(dweight->device, rows, dweight->outputs, dweight->inputs));
    for (int first = 0; first < rows; first += GRADIENT_ROWS) {
        int count = rows - first < GRADIENT_ROWS ? rows - first : GRADIENT_ROWS;
        CLF__TRY(add_rows(dweight, dy, x, count, scale));
        dy.offset += (size_t)count * (size_t)dy.stride;
        x.offset += (size_t)count * (size_t)x.stride;
    }
    return CLF_OK;
}

static size_t weight_bytes(enum clf__precision precision, int outputs, int inputs)
{
    return clf__panels_bytes(clf__matrix_packing_of(precision), outputs, inputs);
}

/* fp32 GEMMs (trained weights, and GEMMs of activations) use the native backend. */
const struct clf__gemm_backend clf__gemm_matrix = {
    .panel = CLF__PANEL,
    .packing = clf__matrix_packing_of,
    .weight_bytes = weight_bytes,
    .write_stream = clf__panels_write_stream,
    .multiply = multiply,
};
