/* Attention with matrix instructions. */
#include <assert.h>
#include <stdio.h>

#include "math/ops/attention_launch.h"

/* Returns the 16-bit precision to which matrix instructions round the operands. */
static enum clf__precision operand_precision(const struct clf__attention_call *call)
{
    return call->precision == CLF__PRECISION_BF16 ? CLF__PRECISION_BF16 : CLF__PRECISION_FP16;
}

int clf__attention_takes_matrix(const struct clf__attention_call *call, const struct clf__caps *caps)
{
    enum { WIDEST = 128, WIDTHS = 16 };
    const struct clf__heads *heads = &call->heads;
    return clf__caps_use_matrix(caps, operand_precision(call)) && !caps->level->matrix.has_few_registers &&
           call->precision != CLF__PRECISION_FP32 && !clf__attention_takes_rows(call) &&
           call->window == NULL && call->dropout.rate == 0.0f && heads->key_width <= WIDEST &&
           heads->value_width <= WIDEST && heads->key_width % WIDTHS == 0 && heads->value_width % WIDTHS == 0;
}

enum clf__type clf__attention_operand_type(const struct clf__attention_call *call)
{
    return operand_precision(call) == CLF__PRECISION_BF16 ? CLF__BF16 : CLF__F16;
}

/* A group of cl/attention/attention_matrix.cl: warps with `tiles` tiles of queries each. */
struct matrix_group {
    int warps, tiles, queries;
};

static struct matrix_group matrix_group(const struct clf__matrix_level *level, int warps, int tiles)
{
    return (struct matrix_group){warps, tiles, warps * tiles * level->rows};
}

/* Short sequences use groups of fewer warps. Warps with several tiles read keys and values less often, but
 * they need more registers, and long sequences to occupy the device. The choice does not change the
 * results. */
static struct matrix_group choose_matrix_group(const struct clf__attention_call *call,
                                               const struct clf__caps *caps, int is_rounded, int has_bias)
{
    enum { FEW_WARPS = 2, MOST_WARPS = 4, WIDEST = 64 };
    const struct clf__matrix_level *level = &caps->level->matrix;
    const struct clf__heads *heads = &call->heads;
    struct matrix_group few = matrix_group(level, FEW_WARPS, 1), most = matrix_group(level, MOST_WARPS, 1);
    struct matrix_group large = matrix_group(level, MOST_WARPS, level->query_tiles);
    int queries = call->ranges.max_queries;
    double groups = (double)call->ranges.sequences * heads->count * ((double)queries / large.queries);
    if (queries <= few.queries) {
        return few;
    }
    return is_rounded && !has_bias && heads->key_width <= WIDEST && heads->value_width <= WIDEST &&
                   queries > most.queries && groups >= caps->compute_units
               ? large
               : most;
}

clf_status clf__attention_matrix_forward(const struct clf__attention_operands *operands,
                                         const struct clf__attention_call *call)
{
    enum { OCTET = 8 }; /* 16 bytes */
    struct clf__tensor y = operands->y, q = operands->q, k = operands->k, v = operands->v;
    const struct clf__heads *heads = &call->heads;
    const struct clf__mask *mask = &call->mask;
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(y.buffer));
    int is_rounded = q.type != CLF__F32,
        has_bias = mask->additive.buffer != NULL || mask->relative.buffer != NULL;
    const struct matrix_group group = choose_matrix_group(call, caps, is_rounded, has_bias);
    assert(y.type == CLF__F32 || y.type == clf__attention_operand_type(call));
    assert(k.type == q.type && v.type == q.type);
    assert(!is_rounded || (clf__attention_is_aligned(q, heads->key_width, OCTET) &&
                           clf__attention_is_aligned(k, heads->key_width, OCTET) &&
                           clf__attention_is_aligned(v, heads->value_width, OCTET)));
    const struct clf__attention_sizes sizes = clf__attention_sizes_of(operands, call);
    size_t tasks;
    CLF__TRY(clf__attention_count_tasks(&tasks, call, group.queries, 1));
    const struct clf__argument arguments[] = {
        CLF__ATTENTION_BUFFERS(*operands),
        CLF__ATTENTION_MASKS(call),
        CLF__STRUCT(sizes),
    };
    char defines[192];
    snprintf(defines, sizeof defines,
             "-DPRECISION=%d -DKEY_WIDTH=%d -DVALUE_WIDTH=%d -DWARPS=%d -DROW_TILES=%d%s%s%s",
             (int)operand_precision(call), heads->key_width, heads->value_width, group.warps, group.tiles,
             has_bias ? " -DHAS_BIAS" : "",
             is_rounded                                 ? " -DOPERANDS_ARE_ROUNDED"
             : clf__attention_has_quads(heads, q, k, v) ? " -DIS_ALIGNED"
                                                        : "",
             clf__result_define(y));
    const struct clf__launch launch = {
        .program = "attention_matrix",
        .defines = defines,
        .gpu = {.kernel = "attention_matrix_gpu",
                .groups = {clf__groups(tasks)},
                .local = {(size_t)(caps->level->matrix.lanes * group.warps)}},
        CLF__ARGUMENTS(arguments),
        .cost = clf__attention_call_cost(operands, call),
    };
    return clf__launch(clf__buffer_device(y.buffer), &launch);
}
