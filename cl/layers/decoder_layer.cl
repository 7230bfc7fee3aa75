/* LAYERS decoder layers for one new token a row (Vaswani 2017, 3.1), whole, in one launch: few rows make products so short
 * that launching them one by one costs more than they do. The same functions in the same order as the launches make
 * that lib/layers/decoder_layer.c would make, so the same bits.
 *
 * A layer is a list of stages: products, attentions and norms; where products read converted rows, a conversion comes
 * before each. A group takes tiles of the stage (a panel of a product, a head of a row, a row) until none is left, then
 * waits until those that others took are done. It waits for nothing but work that a running group has begun, so one
 * group alone gets through, and one that starts late finds its stages done: no order or number of groups can block (the
 * occupancy-bound model of Sorensen et al., OOPSLA 2016).
 *
 * Of the keys that this step adds a row may look at its own alone, as in a search: the others may not be there yet.
 *
 * CPU form only. Needs PRECISION and what finish.cl, attention_step.cl and layernorm.cl need, NORM_FIRST (1: norm before
 * each sub-layer, 0: after it), LAYERS (1 to 4), and OpenCL C 3.0 with acquire and release across the device. */
#if !defined(NORM_FIRST) || !defined(LAYERS)
#error "decoder_layer.cl needs NORM_FIRST and LAYERS"
#endif

/* What the others make kernels of is called here. */
#undef CPU_KERNEL
#define CPU_KERNEL static
#include "attention/attention_step.cl"
#include "rows/layernorm.cl"
#include "include/finish.cl"

/* PANEL_AT: where panel p of a weight begins. MULTIPLY_ROWS: a tile of count <= 8 rows. CONVERT_ROW: a row for that. */
#if PRECISION == 3
#include "include/product_int8.cl"
typedef char weight_element;
#define CONVERT_ROW(to, from, inputs) quantize_row_global(to, OPERAND_PITCH(inputs), from, inputs)
#define PANEL_AT(w, p, inputs)        ((w) + (size_t)(p)*panel_bytes(inputs))
#define MULTIPLY_ROWS(tile, rows, pitch, count, panel, inputs)                                                         \
    block_global(tile, (const __global cpu_operand *)(rows), pitch, count, panel, groups_of(inputs))
#else
#include "include/product.cl"
#define PANEL_AT(w, p, inputs) ((w) + (size_t)(p)*PANEL * panel_depth(inputs))
#define MULTIPLY_ROWS(tile, rows, pitch, count, panel, inputs)                                                         \
    block(tile, (const __global operand_element *)(rows), (pitch) / sizeof(operand_element), count, panel,             \
          panel_depth(inputs))
#if PRECISION == 2
#include "gemm/round_bf16.cl"
#define OPERAND_PITCH(inputs)         CLF__PACKED_PITCH(inputs, sizeof(ushort), 0)
#define CONVERT_ROW(to, from, inputs) round_row_bf16((__global ushort *)(to), from, inputs)
#endif
#endif
#undef CPU_KERNEL
#define CPU_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))

/* The stages in the order of a layer with the norms after the sub-layers; with NORM_FIRST the last norm comes first. */
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

/* Counters lie a cache line apart, all zero before a launch and after it: groups that left, then tiles taken and tiles
 * done of each stage and each conversion of each layer. */
#define COUNTER(i)   (counters + (i)*16)
#define COUNTERS     (1 + 4 * STAGES * LAYERS)
#define LEFT         COUNTER(0)
#define TAKEN(s)     COUNTER(1 + 2 * (s))
#define DONE(s)      COUNTER(2 + 2 * (s))
#define ADD_TO(c, n) atomic_fetch_add_explicit(c, n, memory_order_acq_rel, memory_scope_device)

#ifdef __x86_64__
#define RELAX __asm__ volatile("pause")
#else
#define RELAX
#endif

/* Tiles that a group takes at once. */
struct piece {
    int first, end;
};

/* The next piece; none where it begins at `tiles`. The first pieces are long, for memory is read fastest from end to end
 * and taking one costs a message between cores; the last ones are short, so that all groups end at about the same time
 * (guided self-scheduling: Polychronopoulos and Kuck, IEEE Transactions on Computers 1987). */
static inline struct piece take_piece(__global atomic_int *taken, int tiles)
{
    int shares = 2 * (int)get_num_groups(0), first = 0, size = max(1, tiles / shares);
    for (int others = ADD_TO(taken, 1); others > 0 && first < tiles; others--) {
        first += size;
        size = max(1, (tiles - first) / shares);
    }
    return (struct piece){first, first + size};
}

/* Runs the statement for every tile that this group gets of a stage, and waits for the others' tiles. */
#define FOR_TILES(stage, tiles, statement)                                                                             \
    {                                                                                                                  \
        int ready = 0;                                                                                                 \
        for (struct piece piece = take_piece(TAKEN(stage), tiles); piece.first < (tiles);                              \
             piece = take_piece(TAKEN(stage), tiles)) {                                                                \
            for (int tile = piece.first; tile < piece.end; tile++) {                                                   \
                statement;                                                                                             \
            }                                                                                                          \
            ready += piece.end - piece.first;                                                                          \
        }                                                                                                              \
        if (ready > 0) {                                                                                               \
            ADD_TO(DONE(stage), ready);                                                                                \
        }                                                                                                              \
        while (atomic_load_explicit(DONE(stage), memory_order_acquire, memory_scope_device) < (tiles)) {               \
            RELAX;                                                                                                     \
        }                                                                                                              \
    }

/* A matrix in memory. */
struct rows {
    __global float *at;
    int stride;
};

/* A weight (outputs, inputs) and its bias. */
struct linear {
    const __global weight_element *weight;
    const __global float *bias;
};

/* A norm's gain and shift. */
struct norm {
    const __global float *gamma, *beta;
};

/* y (rows, outputs) = what finish.cl says of x Wᵀ; no weight: not a product. */
struct product {
    struct rows y, x;
    struct linear linear;
    int inputs, outputs;
    int activates;
    const __global float *residual;
    int residual_stride;
};

#ifdef CONVERT_ROW
/* One row of x. */
static inline void convert_tile(int tile, const struct product *product, __global uchar *operand)
{
    CONVERT_ROW(operand + (size_t)tile * OPERAND_PITCH(product->inputs), product->x.at + (size_t)tile * product->x.stride,
                product->inputs);
}
#endif

/* One panel for all rows. */
static inline void product_tile(int tile, const struct product *product, int rows, const __global uchar *operand)
{
    int column = tile * PANEL, inputs = product->inputs;
#ifdef CONVERT_ROW
    size_t pitch = OPERAND_PITCH(inputs);
#else
    size_t pitch = (size_t)product->x.stride * sizeof(float);
    operand = (const __global uchar *)product->x.at;
#endif
    const __global weight_element *panel = PANEL_AT(product->linear.weight, tile, inputs);
    const __global float *bias = product->linear.bias, *residual = product->residual;
    float16 products[16];
    for (int row = 0; row < rows; row += 8) {
        int count = min(8, rows - row);
        MULTIPLY_ROWS(products, operand + row * pitch, pitch, count, panel, inputs);
        finish_tile(products, count, product->y.at + (size_t)row * product->y.stride + column, product->y.stride,
                    bias ? bias + column : 0, residual ? residual + (size_t)row * product->residual_stride + column : 0,
                    product->residual_stride, 1.0f, product->outputs - column, product->activates);
    }
}

/* What a layer has of its own: weights and biases, norms, and what it remembers of earlier tokens and of the encoder's
 * output. */
struct layer {
    struct linear qkv, self_output, query, cross_output, up, down;
    struct norm self_norm, cross_norm, ffn_norm;
    __global float *keys, *values;
    const __global float *memory;
};

#define LAYER_PARAMETERS(n)                                                                                            \
    const __global weight_element *qkv_weight_##n, const __global float *qkv_bias_##n,                                 \
        const __global weight_element *self_weight_##n, const __global float *self_bias_##n,                           \
        const __global weight_element *query_weight_##n, const __global float *query_bias_##n,                         \
        const __global weight_element *cross_weight_##n, const __global float *cross_bias_##n,                         \
        const __global weight_element *up_weight_##n, const __global float *up_bias_##n,                               \
        const __global weight_element *down_weight_##n, const __global float *down_bias_##n,                           \
        const __global float *self_gamma_##n, const __global float *self_beta_##n,                                     \
        const __global float *cross_gamma_##n, const __global float *cross_beta_##n,                                   \
        const __global float *ffn_gamma_##n, const __global float *ffn_beta_##n, __global float *keys_##n,             \
        __global float *values_##n, const __global float *memory_##n
#define LAYER(n)                                                                                                       \
    {                                                                                                                  \
        {qkv_weight_##n, qkv_bias_##n}, {self_weight_##n, self_bias_##n}, {query_weight_##n, query_bias_##n},          \
            {cross_weight_##n, cross_bias_##n}, {up_weight_##n, up_bias_##n}, {down_weight_##n, down_bias_##n},        \
            {self_gamma_##n, self_beta_##n}, {cross_gamma_##n, cross_beta_##n}, {ffn_gamma_##n, ffn_beta_##n},         \
            keys_##n, values_##n, memory_##n                                                                           \
    }

/* WHAT(0), .. WHAT(LAYERS - 1) */
#if LAYERS == 1
#define FOR_EACH_LAYER(WHAT) WHAT(0)
#elif LAYERS == 2
#define FOR_EACH_LAYER(WHAT) WHAT(0), WHAT(1)
#elif LAYERS == 3
#define FOR_EACH_LAYER(WHAT) WHAT(0), WHAT(1), WHAT(2)
#elif LAYERS == 4
#define FOR_EACH_LAYER(WHAT) WHAT(0), WHAT(1), WHAT(2), WHAT(3)
#else
#error "decoder_layer.cl takes 1 to 4 LAYERS"
#endif

/* Groups: one a compute unit. x (R, D) in and out; normed (R, D), projected (R, H (2 K + V)), context (R, H V), hidden
 * (R, F) and operand (R rows of converted inputs) are work space. The norms are those after the three sub-layers; with
 * NORM_FIRST that is the next one's. */
CPU_KERNEL void decoder_layer_step_cpu(
    __global atomic_int *counters, int rows, int d_model, int ffn, int heads, float scale, float eps, __global float *x,
    int x_stride, __global float *normed, int normed_stride, __global float *projected, int projected_stride,
    __global float *context, int context_stride, __global float *hidden, int hidden_stride, __global uchar *operand,
    int keys_stride, int values_stride, const __global int *table, int table_offset, int table_stride,
    const __global int *slots, int slots_offset, const __global int *positions, int positions_offset, int positions_total,
    int slots_total, const __global float *relative, int relative_offset, int relative_stride, int reach,
    int memory_stride, const __global int *spans, int spans_offset, int sequences, int max_queries,
    const __global int *hidden_keys, int hidden_keys_offset, FOR_EACH_LAYER(LAYER_PARAMETERS))
{
    const struct layer layers[] = {FOR_EACH_LAYER(LAYER)};
    int key_columns = heads * KEY_WIDTH, value_columns = heads * VALUE_WIDTH;
    struct rows x_rows = {x, x_stride}, normed_rows = {normed, normed_stride};
    struct rows projected_rows = {projected, projected_stride}, context_rows = {context, context_stride};
    struct rows hidden_rows = {hidden, hidden_stride};
    /* A sub-layer reads `in` and leaves in `out` its result and x; a norm goes from `out` to `in`, which in both
     * arrangements of the norms is what the next sub-layer reads. */
    struct rows in = NORM_FIRST ? normed_rows : x_rows, out = NORM_FIRST ? x_rows : normed_rows;
    int cross_tiles = sequences * heads * ((max_queries + MOST_QUERIES - 1) / MOST_QUERIES);
    struct attention_work work;
    for (int l = 0; l < LAYERS; l++) {
        struct layer layer = layers[l];
        const struct product products[] = {
            [QUERY_KEY_VALUE] = {projected_rows, in, layer.qkv, d_model, 2 * key_columns + value_columns},
            [SELF_OUTPUT] = {out, context_rows, layer.self_output, value_columns, d_model, 0, x, x_stride},
            [CROSS_QUERY] = {projected_rows, in, layer.query, d_model, key_columns},
            [CROSS_OUTPUT] = {out, context_rows, layer.cross_output, value_columns, d_model, 0, x, x_stride},
            [FEED_FORWARD_UP] = {hidden_rows, in, layer.up, d_model, ffn, 1},
            [FEED_FORWARD_DOWN] = {out, hidden_rows, layer.down, ffn, d_model, 0, x, x_stride},
            [FEED_FORWARD_NORM] = {{0, 0}},
        };
        const struct norm norms[] = {
            [SELF_NORM] = layer.self_norm,
            [CROSS_NORM] = layer.cross_norm,
            [FEED_FORWARD_NORM] = layer.ffn_norm,
        };
        for (int step = 0; step < STAGES; step++) {
            int stage = NORM_FIRST ? (step + STAGES - 1) % STAGES : step;
            int count = l * 2 * STAGES + stage;
            struct product product = products[stage];
            if (product.linear.weight) {
#ifdef CONVERT_ROW
                FOR_TILES(count + STAGES, rows, convert_tile(tile, &product, operand))
#endif
                FOR_TILES(count, (product.outputs + PANEL - 1) / PANEL, product_tile(tile, &product, rows, operand))
            } else if (stage == SELF_ATTENTION) {
                FOR_TILES(count, rows * heads,
                          step_task(tile, context, 0, context_stride, projected, 0, projected_stride, projected,
                                    key_columns, projected_stride, projected, 2 * key_columns, projected_stride,
                                    layer.keys, 0, keys_stride, layer.values, 0, values_stride, table, table_offset,
                                    table_stride, slots, slots_offset, positions, positions_offset, positions_total,
                                    slots_total, relative, relative_offset, relative_stride, reach, rows, heads, scale))
            } else if (stage == CROSS_ATTENTION) {
                FOR_TILES(count, cross_tiles,
                          attention_task(&work, tile, context, 0, context_stride, projected, 0, projected_stride,
                                         layer.memory, 0, memory_stride, layer.memory, key_columns, memory_stride, spans,
                                         spans_offset, hidden_keys, hidden_keys_offset, 0, 0, 0, 0, 0, 0, 0, sequences,
                                         heads, max_queries, scale, 0, MOST_QUERIES))
            } else {
                FOR_TILES(count, rows, norm_row(in.at + (size_t)tile * in.stride, 0, out.at + (size_t)tile * out.stride,
                                                norms[stage].gamma, norms[stage].beta, d_model, eps))
            }
        }
    }
    if (ADD_TO(LEFT, 1) == (int)get_num_groups(0) - 1) {
        for (int i = 0; i < COUNTERS; i++) {
            atomic_store_explicit(COUNTER(i), 0, memory_order_relaxed, memory_scope_device);
        }
    }
}
