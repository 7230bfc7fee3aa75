#include "math/layers/linear_pair.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/minmax.h"
#include "math/gemm/activations.h"
#include "math/gemm/layout.h"
#include "math/layers/grid_barrier.h"
#include "math/ops/operand.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

/* Bytes of local memory for a slice of both operands of a GEMM without matrix instructions. */
enum {
    ANSWER_BYTES = 16,
    FLOAT_BYTES = 4 * 128 * (CLF__SKINNY_ROWS + CLF__PANEL),
    INT8_BYTES = FLOAT_BYTES / 2
};

/* The tile and the groups of a launch. */
struct shape {
    int rows, columns, items;
    int warps; /* 0: no matrix instructions */
    size_t local_bytes;
};

static enum clf__precision precision_of(const struct clf__linear_pair *pair)
{
    return clf__weight_layout(pair->first->weight).precision;
}

static int has_matrix(const struct clf__linear *linear)
{
    return clf__layout_has_matrix(clf__weight_layout(linear->weight));
}

static struct shape shape_of(const struct clf__linear_pair *pair)
{
    struct clf_device *device = clf__buffer_device(pair->sums.buffer);
    enum clf__precision precision = precision_of(pair);
    if (!has_matrix(pair->first)) {
        return (struct shape){CLF__SKINNY_ROWS, CLF__PANEL, CLF__TILE_GROUP, 0,
                              precision == CLF__PRECISION_INT8 ? INT8_BYTES : FLOAT_BYTES};
    }
    const struct clf__matrix_level *level = &device->caps.level->matrix;
    int first = clf__matrix_warps(device, precision, clf__weight_inputs(pair->first->weight));
    int second = clf__matrix_warps(device, precision, clf__weight_inputs(pair->second->weight));
    int warps =
        clf__max_int(clf__max_int(first, second), CLF__GROUP / level->lanes); /* a norm needs a group */
    return (struct shape){level->rows, level->columns, warps * level->lanes, warps,
                          (size_t)warps * CLF__WARP_BYTES};
}

static int divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

/* Returns whether x is converted to the operand type first. */
static int converts(const struct clf__linear_pair *pair)
{
    return pair->x.type == CLF__F32 && (has_matrix(pair->first) || precision_of(pair) == CLF__PRECISION_INT8);
}

static size_t count_tasks(const struct clf__linear_pair *pair, const struct shape *shape)
{
    int rows = pair->sums.rows, tiles = divide_up(rows, shape->rows);
    int columns = divide_up(pair->sums.columns, shape->columns) + divide_up(pair->y.columns, shape->columns);
    return (size_t)((converts(pair) ? rows : 0) + tiles * columns +
                    divide_up(rows, shape->items / CLF__GROUP));
}

struct pair_defines {
    char text[128];
};

static struct pair_defines list_defines(const struct clf__linear_pair *pair, const struct shape *shape)
{
    const struct clf__norm *norm = pair->norm;
    int held = clf__layernorm_held(norm->gamma.columns);
    struct pair_defines defines;
    char held_define[24] = "", gemm_define[24];
    if (held > 0) {
        snprintf(held_define, sizeof held_define, " -DHELD=%d", held);
    }
    if (shape->warps > 0) {
        snprintf(gemm_define, sizeof gemm_define, "-DWARPS=%d", shape->warps);
    } else {
        snprintf(gemm_define, sizeof gemm_define, "-DACTIVATION=%d", (int)pair->activation);
    }
    snprintf(defines.text, sizeof defines.text, "-DPRECISION=%d -DGROUPS_TOGETHER %s -DNORM=%d%s%s",
             (int)precision_of(pair), gemm_define, (int)norm->kind,
             norm->beta.buffer != NULL ? " -DHAS_BETA" : "", held_define);
    return defines;
}

int clf__linear_pair_check(const struct clf__linear_pair *pair, const struct clf__linear_pairs *pairs)
{
    struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    const struct shape shape = shape_of(pair);
    const struct pair_defines defines = list_defines(pair, &shape);
    const struct clf__argument arguments[] = {CLF__LOCAL(ANSWER_BYTES + shape.local_bytes)};
    const struct clf__launch launch = {
        .program = pairs->is_split ? "norm_linear" : "linear_pair",
        .defines = defines.text,
        .gpu = {.kernel = pairs->is_split ? "norm_linear_gpu" : "linear_pair_gpu",
                .groups = {1},
                .local = {(size_t)shape.items}},
        CLF__ARGUMENTS(arguments),
    };
    int exceeds = 0;
    clf_status status = clf__launch_check(&exceeds, device, &launch);
    if (status != CLF_OK || exceeds) {
        clf__log(CLF_LOG_INFO, "device %s: launches of two linear layers are disabled: %s", device->label,
                 status != CLF_OK ? clf_last_error() : "their work-groups are too large");
    }
    return status == CLF_OK && !exceeds;
}

static struct clf__linear_pair_sizes list_sizes(const struct clf__linear_pair *pair,
                                                const struct clf__linear_pairs *pairs)
{
    const struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    int inputs = clf__weight_inputs(pair->first->weight);
    size_t bytes = precision_of(pair) == CLF__PRECISION_INT8 ? 1 : sizeof(uint16_t);
    size_t tail = precision_of(pair) == CLF__PRECISION_INT8 ? CLF__INT8_ROW_TAIL : 0;
    return (struct clf__linear_pair_sizes){
        .x = CLF__PLACE(pair->x),
        .residual = CLF__PLACE(pair->residual),
        .sums = CLF__PLACE(pair->sums),
        .normed = CLF__PLACE(pair->normed),
        .operands = CLF__PLACE(pair->operands),
        .y = CLF__PLACE(pair->y),
        .rows = pair->sums.rows,
        .inputs = inputs,
        .middle = pair->sums.columns,
        .outputs = pair->y.columns,
        .converts = converts(pair),
        .x_pitch = (int)CLF__PACKED_PITCH((size_t)inputs, bytes, tail),
        .is_rounded = pair->y.type != CLF__F32,
        .activation = (int)pair->activation,
        .failed = (int)pairs->failed.offset,
        .most_looks = clf__grid_barrier_looks(device, pairs->most_looks),
        .fails_at = pairs->fails_at,
        .epsilon = pair->norm->epsilon,
    };
}

static struct clf__cost cost_of(const struct clf__linear_pair *pair)
{
    int rows = pair->sums.rows;
    struct clf__cost cost = clf__weight_cost(rows, pair->first->weight, NULL);
    struct clf__cost second = clf__weight_cost(rows, pair->second->weight, NULL);
    cost.operations += second.operations;
    cost.bytes += second.bytes;
    return cost;
}

/* Returns the bytes of a row that the second layer reads. */
static size_t row_bytes(const struct clf__linear_pair *pair)
{
    return pair->operands.buffer != NULL ? (size_t)pair->operands.stride * sizeof(uint16_t)
                                         : (size_t)pair->normed.stride * sizeof(float);
}

/* The first layer, then the norm with the second layer. */
static clf_status forward_split(const struct clf__linear_pair *pair, const struct clf__linear_pairs *pairs)
{
    CLF__TRY(clf__linear_forward(pair->sums, pair->x, pair->first, CLF__IDENTITY, pair->residual));
    const struct shape shape = shape_of(pair);
    const struct pair_defines defines = list_defines(pair, &shape);
    const struct clf__linear_pair_sizes sizes = list_sizes(pair, pairs);
    struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    size_t groups = (size_t)divide_up(sizes.outputs, shape.columns);
    CLF__TRY(clf__activations_reserve(device, groups * (size_t)sizes.rows * row_bytes(pair)));
    const struct clf__argument arguments[] = {
        CLF__LOCAL(shape.local_bytes),
        CLF__BUFFER(pair->sums.buffer),
        CLF__BUFFER(pair->norm->gamma.buffer),
        CLF__BUFFER(pair->norm->beta.buffer),
        CLF__BUFFER(pair->normed.buffer),
        CLF__BUFFER(pair->operands.buffer),
        CLF__BUFFER(clf__gemm_scratch(device)),
        CLF__BUFFER(clf__weight_layout(pair->second->weight).buffer),
        CLF__BUFFER(pair->second->bias),
        CLF__BUFFER(pair->y.buffer),
        CLF__STRUCT(sizes),
    };
    const struct clf__launch launch = {
        .program = "norm_linear",
        .defines = defines.text,
        .gpu = {.kernel = "norm_linear_gpu",
                .groups = {groups, (size_t)divide_up(sizes.rows, shape.rows)},
                .local = {(size_t)shape.items}},
        CLF__ARGUMENTS(arguments),
        .cost = clf__weight_cost(sizes.rows, pair->second->weight, NULL),
    };
    return clf__launch(device, &launch);
}

clf_status clf__linear_pair_forward(const struct clf__linear_pair *pair, struct clf__linear_pairs *pairs)
{
    assert(pair->norm->gamma.offset == 0 && pair->norm->beta.offset == 0);
    if (pairs->is_split) {
        return forward_split(pair, pairs);
    }
    struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    const struct shape shape = shape_of(pair);
    const struct pair_defines defines = list_defines(pair, &shape);
    const struct clf__linear_pair_sizes sizes = list_sizes(pair, pairs);
    CLF__TRY(clf__gemm_reserve(device, sizes.rows, sizes.inputs, precision_of(pair)));
    const struct clf__argument arguments[] = {
        CLF__LOCAL(ANSWER_BYTES + shape.local_bytes),
        CLF__BUFFER(pairs->counters.buffer),
        CLF__BUFFER(pairs->failed.buffer),
        CLF__BUFFER(pair->x.buffer),
        CLF__BUFFER(clf__gemm_scratch(device)),
        CLF__BUFFER(clf__weight_layout(pair->first->weight).buffer),
        CLF__BUFFER(pair->first->bias),
        CLF__BUFFER(pair->residual.buffer),
        CLF__BUFFER(pair->sums.buffer),
        CLF__BUFFER(pair->norm->gamma.buffer),
        CLF__BUFFER(pair->norm->beta.buffer),
        CLF__BUFFER(pair->normed.buffer),
        CLF__BUFFER(pair->operands.buffer),
        CLF__BUFFER(clf__weight_layout(pair->second->weight).buffer),
        CLF__BUFFER(pair->second->bias),
        CLF__BUFFER(pair->y.buffer),
        CLF__STRUCT(sizes),
    };
    const struct clf__launch launch = {
        .program = "linear_pair",
        .defines = defines.text,
        .gpu = {.kernel = "linear_pair_gpu",
                .groups = {count_tasks(pair, &shape)},
                .local = {(size_t)shape.items}},
        CLF__ARGUMENTS(arguments),
        .cost = cost_of(pair),
    };
    pairs->is_running = 1;
    return clf__launch(device, &launch);
}
