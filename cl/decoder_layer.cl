/* One decoder layer for one new token a row (Vaswani 2017, 3.1), whole, in one launch: few rows make products so short
 * that launching them one by one costs more than they do. The same functions in the same order as the launches make
 * that lib/layers/decoder_layer.c would make, so the same bits.
 *
 * The layer is a list of stages: products, attentions and norms. A group takes tiles of the stage (a panel of a product,
 * a head of a row, a row) until none is left, then waits until those that others took are done. It waits for nothing but
 * work that a running group has begun, so one group alone gets through, and one that starts late finds its stages done:
 * no order or number of groups can block (the occupancy-bound model of Sorensen et al., OOPSLA 2016).
 *
 * Of the keys that this step adds a row may look at its own alone, as in a search: the others may not be there yet.
 *
 * CPU form only. Needs what product.cl, finish.cl, attention_step.cl and layernorm.cl need, NORM_FIRST (1: norm before
 * each sub-layer, 0: behind it), and OpenCL C 3.0 with acquire and release across the device. */
#ifndef NORM_FIRST
#error "decoder_layer.cl needs NORM_FIRST"
#endif

/* What the others make kernels of is called here. */
#undef CPU_KERNEL
#define CPU_KERNEL static
#include "attention_step.cl"
#include "layernorm.cl"
#include "product.cl"
#include "finish.cl"
#undef CPU_KERNEL
#define CPU_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))

/* The stages in the order of a layer with the norms behind; with NORM_FIRST the last norm comes first. */
enum {
    QUERY_KEY_VALUE,
    SELF_ATTENTION,
    SELF_OUTPUT,
    SELF_NORM,
    CROSS_QUERY,
    CROSS_ATTENTION,
    CROSS_OUTPUT,
    CROSS_NORM,
    FEED_FORWARD_UP,
    FEED_FORWARD_DOWN,
    FEED_FORWARD_NORM,
    STAGES
};

/* Counters lie a cache line apart. counters: groups that left, tiles taken of each stage, tiles done of each stage; all
 * zero before a launch and after it. */
#define COUNTER(i)  (counters + (i)*16)
#define LEFT        COUNTER(0)
#define TAKEN(s)    COUNTER(1 + (s))
#define DONE(s)     COUNTER(1 + STAGES + (s))
#define COUNT_UP(c) atomic_fetch_add_explicit(c, 1, memory_order_acq_rel, memory_scope_device)

#ifdef __x86_64__
#define RELAX __asm__ volatile("pause")
#else
#define RELAX
#endif

struct product_stage {
    __global float *y;
    const __global float *x;
    const __global weight_element *w;
    const __global float *bias;
    const __global float *residual;
    int y_stride, x_stride, residual_stride, inputs, outputs, activates;
};

/* One panel for all rows. */
static inline void product_tile(int tile, const struct product_stage *stage, int rows)
{
    int column = tile * PANEL;
    float16 products[16];
    for (int row = 0; row < rows; row += 8) {
        int count = min(8, rows - row);
        block(products, stage->x + (size_t)row * stage->x_stride, stage->x_stride, count,
              stage->w + (size_t)column * stage->inputs, stage->inputs);
        finish_tile(products, count, stage->y + (size_t)row * stage->y_stride + column, stage->y_stride,
                    stage->bias ? stage->bias + column : 0,
                    stage->residual ? stage->residual + (size_t)row * stage->residual_stride + column : 0,
                    stage->residual_stride, 1.0f, stage->outputs - column, stage->activates);
    }
}

/* Groups: one a compute unit. x (R, D) in and out; normed (R, D), projected (R, H (2 K + V)), context (R, H V) and hidden
 * (R, F) are work space. */
CPU_KERNEL void decoder_layer_step_cpu(
    __global atomic_int *counters, int rows, int d_model, int ffn, int heads, float scale, float eps, __global float *x,
    int x_stride, __global float *normed, int normed_stride, __global float *projected, int projected_stride,
    __global float *context, int context_stride, __global float *hidden, int hidden_stride,
    const __global weight_element *qkv_weight, const __global float *qkv_bias, const __global weight_element *self_weight,
    const __global float *self_bias, const __global weight_element *query_weight, const __global float *query_bias,
    const __global weight_element *cross_weight, const __global float *cross_bias,
    const __global weight_element *up_weight, const __global float *up_bias, const __global weight_element *down_weight,
    const __global float *down_bias, const __global float *self_gamma, const __global float *self_beta,
    const __global float *cross_gamma, const __global float *cross_beta, const __global float *ffn_gamma,
    const __global float *ffn_beta, __global float *keys, int keys_offset, int keys_stride,
    __global float *values, int values_offset, int values_stride, const __global int *table, int table_offset,
    int table_stride, const __global int *slots, int slots_offset, const __global int *positions, int positions_offset,
    int positions_total, int slots_total, const __global float *relative, int relative_offset, int relative_stride,
    int reach, const __global float *memory, int memory_offset, int memory_stride, const __global int *spans,
    int spans_offset, int sequences, int max_queries, const __global int *hidden_keys, int hidden_keys_offset)
{
    int key_columns = heads * KEY_WIDTH, value_columns = heads * VALUE_WIDTH;
    struct attention_work work;
    /* A sub-layer reads `in` and leaves in `out` its result and x; a norm goes from `out` to `in`, which in both
     * arrangements of the norms is what the next sub-layer reads. */
    __global float *in = NORM_FIRST ? normed : x, *out = NORM_FIRST ? x : normed;
    int in_stride = NORM_FIRST ? normed_stride : x_stride, out_stride = NORM_FIRST ? x_stride : normed_stride;
    for (int step = 0; step < STAGES; step++) {
        int stage = NORM_FIRST ? (step + STAGES - 1) % STAGES : step;
        struct product_stage product = {0};
        const __global float *gamma = 0, *beta = 0;
        int tiles = rows;
        switch (stage) {
        case QUERY_KEY_VALUE:
            product = (struct product_stage){projected, in, qkv_weight, qkv_bias, 0, projected_stride, in_stride, 0,
                                             d_model, 2 * key_columns + value_columns, 0};
            break;
        case SELF_ATTENTION: tiles = rows * heads; break;
        case SELF_OUTPUT:
            product = (struct product_stage){out, context, self_weight, self_bias, x, out_stride, context_stride, x_stride,
                                             value_columns, d_model, 0};
            break;
        case CROSS_QUERY:
            product = (struct product_stage){projected, in, query_weight, query_bias, 0, projected_stride, in_stride, 0,
                                             d_model, key_columns, 0};
            break;
        case CROSS_ATTENTION: tiles = sequences * heads * ((max_queries + MOST_QUERIES - 1) / MOST_QUERIES); break;
        case CROSS_OUTPUT:
            product = (struct product_stage){out, context, cross_weight, cross_bias, x, out_stride, context_stride,
                                             x_stride, value_columns, d_model, 0};
            break;
        case FEED_FORWARD_UP:
            product = (struct product_stage){hidden, in, up_weight, up_bias, 0, hidden_stride, in_stride, 0, d_model, ffn, 1};
            break;
        case FEED_FORWARD_DOWN:
            product = (struct product_stage){out, hidden, down_weight, down_bias, x, out_stride, hidden_stride, x_stride,
                                             ffn, d_model, 0};
            break;
        case SELF_NORM: gamma = self_gamma; beta = self_beta; break;
        case CROSS_NORM: gamma = cross_gamma; beta = cross_beta; break;
        default: gamma = ffn_gamma; beta = ffn_beta; break;
        }
        if (product.w) {
            tiles = (product.outputs + PANEL - 1) / PANEL;
        }
        for (int tile = COUNT_UP(TAKEN(stage)); tile < tiles; tile = COUNT_UP(TAKEN(stage))) {
            if (product.w) {
                product_tile(tile, &product, rows);
            } else if (stage == SELF_ATTENTION) {
                step_task(tile, context, 0, context_stride, projected, 0, projected_stride, projected, key_columns,
                          projected_stride, projected, 2 * key_columns, projected_stride, keys, keys_offset, keys_stride,
                          values, values_offset, values_stride, table, table_offset, table_stride, slots, slots_offset,
                          positions, positions_offset, positions_total, slots_total, relative, relative_offset,
                          relative_stride, reach, rows, heads, scale);
            } else if (stage == CROSS_ATTENTION) {
                attention_task(&work, tile, context, 0, context_stride, projected, 0, projected_stride, memory,
                               memory_offset, memory_stride, memory, memory_offset + key_columns, memory_stride, spans,
                               spans_offset, hidden_keys, hidden_keys_offset, 0, 0, 0, 0, 0, 0, 0, sequences, heads,
                               max_queries, scale, 0, MOST_QUERIES);
            } else {
                norm_row(in + (size_t)tile * in_stride, out + (size_t)tile * out_stride, gamma, beta, d_model, eps);
            }
            COUNT_UP(DONE(stage));
        }
        while (atomic_load_explicit(DONE(stage), memory_order_acquire, memory_scope_device) < tiles) {
            RELAX;
        }
    }
    if (COUNT_UP(LEFT) == (int)get_num_groups(0) - 1) {
        for (int i = 0; i < 1 + 2 * STAGES; i++) {
            atomic_store_explicit(COUNTER(i), 0, memory_order_relaxed, memory_scope_device);
        }
    }
}
