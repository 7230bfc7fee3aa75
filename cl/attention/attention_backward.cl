/* The gradients of attention.cl. For each sequence and head, with query i, key j, the weights P of the
 * forward pass and the dropout factor f (1 without dropout):
 *
 *     dv[j] = sum_i P[i][j] f[i][j] dy[i]
 *     dS[i][j] = P[i][j] (f[i][j] dy[i] . v[j] - delta[i]),  delta[i] = dy[i] . y[i]
 *     dq[i] = scale * sum_j dS[i][j] k[j],  dk[j] = scale * sum_i dS[i][j] q[i]
 *
 * P is recomputed from q and k. statistics (3, heads, query_rows): the maximum score of each query, the sum of the
 * weights relative to the maximum, and delta; the CPU variant needs this memory only for several tiles of keys.
 * partials (sequences, heads, 2 * reach + 1) receives, if requested, the sums of dS by the distance of key and query
 * for each sequence; attention_backward_relative adds them to drelative in order. A query that sees no key has P = 0.
 * Shapes and masks are as in attention.cl; gradients depend only on their sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT if the forward pass had it. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_backward.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE_KEYS 128 /* CPU variant; smaller than in the forward pass, because a key needs more memory */
#include "include/attention_blocks.cl"

#define BACKWARD_ARGUMENTS                                                                                             \
    __global float *dq, int dq_offset, int dq_stride, __global float *dk, int dk_offset, int dk_stride,                \
        __global float *dv, int dv_offset, int dv_stride, const __global float *dy, int dy_offset, int dy_stride,      \
        const __global float *q, int q_offset, int q_stride, const __global float *k, int k_offset, int k_stride,      \
        const __global float *v, int v_offset, int v_stride, const __global float *y, int y_offset, int y_stride,      \
        const __global int *ranges, int ranges_offset, const __global int *hidden, int hidden_offset,                  \
        const __global float *additive, int additive_offset, int additive_stride, const __global float *relative,      \
        int relative_offset, int relative_stride, int reach, __global float *statistics, int statistics_offset,        \
        int wants_relative, int query_rows, int sequences, int heads, int max_queries, int max_keys, float scale,      \
        int causal COMMA_DROPOUT_ARGUMENTS

#define BACKWARD_NAMES                                                                                                 \
    dq, dq_offset, dq_stride, dk, dk_offset, dk_stride, dv, dv_offset, dv_stride, dy, dy_offset, dy_stride, q,         \
        q_offset, q_stride, k, k_offset, k_stride, v, v_offset, v_stride, y, y_offset, y_stride, ranges,               \
        ranges_offset, hidden, hidden_offset, additive, additive_offset, additive_stride, relative, relative_offset,   \
        relative_stride, reach, statistics, statistics_offset, wants_relative, query_rows, sequences, heads,           \
        max_queries, max_keys, scale, causal COMMA_DROPOUT_NAMES

/* A head of a sequence: the addresses of the rows, and the masks, which may be null. */
struct backward_head {
    __global float *dq, *dk, *dv;
    const __global float *dy, *q, *k, *v, *y;
    int dq_stride, dk_stride, dv_stride, dy_stride, q_stride, k_stride, v_stride, y_stride;
    const __global int *hidden;
    const __global float *bias, *terms;
    int reach, terms_stride, causal;
    __global float *maxima, *totals, *deltas; /* per query */
    __global float *partials;                 /* may be null */
    int queries, keys, first_row, heads, number;
    float scale;
};

static inline void find_head(struct backward_head *head, int sequence, int number, BACKWARD_ARGUMENTS)
{
    const __global int *range = ranges + ranges_offset + sequence * 4;
    size_t query = (size_t)range[0], key = (size_t)range[2];
    size_t column = (size_t)number * KEY_WIDTH, value_column = (size_t)number * VALUE_WIDTH;
    head->dq = dq + dq_offset + query * dq_stride + column;
    head->dk = dk + dk_offset + key * dk_stride + column;
    head->dv = dv + dv_offset + key * dv_stride + value_column;
    head->dy = dy + dy_offset + query * dy_stride + value_column;
    head->q = q + q_offset + query * q_stride + column;
    head->k = k + k_offset + key * k_stride + column;
    head->v = v + v_offset + key * v_stride + value_column;
    head->y = y + y_offset + query * y_stride + value_column;
    head->dq_stride = dq_stride;
    head->dk_stride = dk_stride;
    head->dv_stride = dv_stride;
    head->dy_stride = dy_stride;
    head->q_stride = q_stride;
    head->k_stride = k_stride;
    head->v_stride = v_stride;
    head->y_stride = y_stride;
    head->hidden = hidden ? hidden + hidden_offset + key : 0;
    head->bias = relative ? relative + relative_offset + (size_t)number * relative_stride : 0;
    head->terms = additive ? additive + additive_offset + (size_t)sequence * max_queries * additive_stride : 0;
    head->reach = reach;
    head->terms_stride = additive_stride;
    head->causal = causal;
    head->maxima = statistics + statistics_offset + (size_t)number * query_rows + query;
    head->totals = head->maxima + (size_t)heads * query_rows;
    head->deltas = head->totals + (size_t)heads * query_rows;
    __global float *partials = statistics + statistics_offset + (size_t)3 * heads * query_rows;
    head->partials = wants_relative ? partials + ((size_t)sequence * heads + number) * (2 * reach + 1) : 0;
    head->queries = range[1];
    head->keys = range[3];
    head->first_row = range[0];
    head->heads = heads;
    head->number = number;
    head->scale = scale;
}

#include "include/attention_backward_cpu.cl"

CPU_KERNEL void attention_backward_cpu(BACKWARD_ARGUMENTS)
{
    struct backward_work work;
    for (int task = (int)get_group_id(0); task < sequences * heads; task += (int)get_num_groups(0)) {
        struct backward_head head;
        find_head(&head, task / heads, task % heads, BACKWARD_NAMES);
        differentiate_head(&work, &head COMMA_DROPOUT_NAMES);
    }
}

#define RELATIVE_ARGUMENTS                                                                                             \
    __global float *drelative, int drelative_offset, int drelative_stride, const __global float *statistics,           \
        int statistics_offset, int query_rows, int sequences, int heads, int width

/* A work-item processes whole heads. */
CPU_KERNEL void attention_backward_relative_cpu(RELATIVE_ARGUMENTS)
{
    const __global float *partials = statistics + statistics_offset + (size_t)3 * heads * query_rows;
    for (int head = (int)get_group_id(0); head < heads; head += (int)get_num_groups(0)) {
        __global float *row = drelative + drelative_offset + (size_t)head * drelative_stride;
        for (int c = 0; c < width; c += LANES) {
            float16 sum = 0.0f;
            for (int b = 0; b < sequences; b++) {
                sum += load_columns(partials + ((size_t)b * heads + head) * width, c, width);
            }
            store_part(load_columns(row, c, width) + sum, row + c, min(width - c, LANES));
        }
    }
}

/* A group processes whole heads; a work-item processes every 64th distance. */
GPU_KERNEL void attention_backward_relative_gpu(RELATIVE_ARGUMENTS)
{
    const __global float *partials = statistics + statistics_offset + (size_t)3 * heads * query_rows;
    for (int head = (int)get_group_id(0); head < heads; head += (int)get_num_groups(0)) {
        __global float *row = drelative + drelative_offset + (size_t)head * drelative_stride;
        for (int c = (int)get_local_id(0); c < width; c += GROUP) {
            float sum = 0.0f;
            for (int b = 0; b < sequences; b++) {
                sum += partials[((size_t)b * heads + head) * width + c];
            }
            row[c] += sum;
        }
    }
}

/* ---- GPU variant: statistics of the queries, then dq by blocks of queries, and dk and dv by blocks of
 * keys ----
 *
 * Local memory: a struct backward_head; TILES + BLOCK * (BLOCK + 1) floats, and 2 * GROUP + BLOCK more for
 * the statistics. Local memory is passed as parameters, because PoCL 3.1 gives large arrays declared in a
 * kernel one address for all threads. */

#include "include/attention_backward_gpu.cl"

/* A group computes the maximum, total and delta of 32 queries of a head. tiles: TILES + BLOCK * (BLOCK + 1)
 * + 2 * GROUP + BLOCK. */
GPU_KERNEL void attention_backward_statistics_gpu(__local struct backward_head *head, __local float *tiles,
                                                  BACKWARD_ARGUMENTS)
{
    __local float *weights = tiles + TILES, *parts = weights + BLOCK * (BLOCK + 1), *sum_parts = parts + GROUP;
    __local float *factors = sum_parts + GROUP;
    int blocks = (max_queries + BLOCK - 1) / BLOCK;
    int tasks = sequences * heads * blocks;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int sequence = task / blocks / heads, first = task % blocks * BLOCK;
        int count = min(ranges[ranges_offset + sequence * 4 + 1] - first, BLOCK);
        if (count <= 0) {
            continue;
        }
        find_head_together(head, sequence, task / blocks % heads, BACKWARD_NAMES);
        int shift = head->keys - head->queries, query = first + (int)get_local_id(0) / 2;
        int end = causal ? min(first + count + shift, head->keys) : head->keys;
        int last = query >= head->queries ? -1 : causal ? min(query + shift, head->keys - 1) : head->keys - 1;
        const __global float *terms = head->terms ? head->terms + (size_t)query * additive_stride : 0;
        struct view view = {query, last, reach, head->hidden, head->bias, terms};
        struct running running = {-INFINITY, 0.0f};
        for (int tile = 0; tile < end; tile += BLOCK) {
            int width = min(end - tile, BLOCK);
            score_tile(weights, tiles, head->q + (size_t)first * q_stride, q_stride, count, scale,
                       head->k + (size_t)tile * k_stride, k_stride, width, 1.0f);
            weigh_tile(&running, weights, parts, sum_parts, factors, tile, &view);
        }
        float delta = find_delta(parts, head, query);
        if (query < head->queries && get_local_id(0) % 2 == 0) {
            head->maxima[query] = running.maximum;
            head->totals[query] = running.total;
            head->deltas[query] = delta;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* A group processes 32 queries of a head and up to 64 columns of dq. tiles: TILES + BLOCK * (BLOCK + 1) floats. */
GPU_KERNEL void attention_backward_queries_gpu(__local struct backward_head *head, __local float *tiles,
                                               BACKWARD_ARGUMENTS)
{
    __local float *weights = tiles + TILES;
    int blocks = (max_queries + BLOCK - 1) / BLOCK, slices = SLICES_OF(KEY_WIDTH);
    int tasks = sequences * heads * blocks * slices;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % slices * SLICE, block = task / slices;
        int sequence = block / blocks / heads, first = (blocks - 1 - block % blocks) * BLOCK;
        int count = min(ranges[ranges_offset + sequence * 4 + 1] - first, BLOCK);
        if (count <= 0) {
            continue;
        }
        find_head_together(head, sequence, block / blocks % heads, BACKWARD_NAMES);
        int end = causal ? min(first + count + head->keys - head->queries, head->keys) : head->keys;
        struct column_sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int tile = 0; tile < end; tile += BLOCK) {
            int width = min(end - tile, BLOCK);
            weigh_pairs(weights, tiles, first, tile, 1, head COMMA_DROPOUT_NAMES);
            load_slice(tiles, head->k + (size_t)tile * head->k_stride + slice, head->k_stride, width, KEY_WIDTH - slice);
            barrier(CLK_LOCAL_MEM_FENCE);
            add_tile_rows(&sums, weights, 1, BLOCK + 1, tiles, width);
        }
        put_sums(head->dq + (size_t)first * head->dq_stride + slice, head->dq_stride, count,
                 min(SLICE, KEY_WIDTH - slice), &sums, (float4)(head->scale));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* A group processes 32 keys of a head and up to 64 columns of dk. */
GPU_KERNEL void attention_backward_keys_gpu(__local struct backward_head *head, __local float *tiles,
                                            BACKWARD_ARGUMENTS)
{
    differentiate_keys_gpu(head, tiles, 1, BACKWARD_NAMES);
}

/* A group processes 32 keys of a head and up to 64 columns of dv. */
GPU_KERNEL void attention_backward_values_gpu(__local struct backward_head *head, __local float *tiles,
                                              BACKWARD_ARGUMENTS)
{
    differentiate_keys_gpu(head, tiles, 0, BACKWARD_NAMES);
}

/* A group computes the partials of a head. */
GPU_KERNEL void attention_backward_partials_gpu(__local struct backward_head *head, __local float *tiles,
                                                BACKWARD_ARGUMENTS)
{
    __local float *weights = tiles + TILES;
    for (int task = (int)get_group_id(0); task < sequences * heads; task += (int)get_num_groups(0)) {
        find_head_together(head, task / heads, task % heads, BACKWARD_NAMES);
        for (int c = (int)get_local_id(0); c < 2 * head->reach + 1; c += GROUP) {
            head->partials[c] = 0.0f;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int query = 0; query < head->queries; query += BLOCK) {
            int end = causal ? min(query + BLOCK + head->keys - head->queries, head->keys) : head->keys;
            for (int key = 0; key < end; key += BLOCK) {
                weigh_pairs(weights, tiles, query, key, 1, head COMMA_DROPOUT_NAMES);
                add_diagonals(tiles, weights, query, key, head);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
