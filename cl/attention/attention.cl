/* Scaled dot-product attention in one pass. For each sequence, head h and query i of it, over its keys j:
 *
 *     s[j] = scale * q[i] . k[j] + relative[h][clamp(j - i, -R, R) + R] + additive[i][j], -inf where i must
 * not look y[i] = sum_j exp(s[j] - m) v[j] / sum_j exp(s[j] - m), m = max_j s[j]; zeros where every s[j] is
 * -inf
 *
 * q (query rows, heads * KEY_WIDTH), k (key rows, heads * KEY_WIDTH), v (key rows, heads * VALUE_WIDTH),
 * y (query rows, heads * VALUE_WIDTH); ranges (sequences, 4) of { first query, queries, first key, keys }.
 * Keys are taken in tiles from the first one on, with a running maximum and sum, so a query's result depends
 * on nothing but its own sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT for kernels that drop weights; the CPU form takes
 * RESULT_BF16 (result.cl). */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#include "include/attention_blocks.cl"

/* ---- the CPU form: a work-item takes block_queries queries of one head of one sequence ---- */

CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        attention_task(&work, task, y, q, k, v, ranges, hidden, additive, relative, sizes COMMA_DROPOUT_NAMES);
    }
}

/* ---- the GPU form ---- */

#define DOT_WIDTH KEY_WIDTH
#define SUM_WIDTH VALUE_WIDTH
#include "include/attention_tiles.cl"

#ifdef HAS_DROPOUT
/* Drops a work-item's half of a query's weights of the keys from `tile` on; row is the query's in the mask. */
static inline void drop_half_row(__local float *weights, int tile, int row, DROPOUT_ARGUMENTS)
{
    int lane = (int)get_local_id(0), key = tile + lane % 2 * (BLOCK / 2);
    weights += lane / 2 * (BLOCK + 1) + lane % 2 * (BLOCK / 2);
#pragma unroll 1
    for (int j = 0; j < BLOCK / 2; j += 4) {
        float4 kept = dropout_quad((key + j) / 4, row, DROPOUT_NAMES);
        weights[j] *= kept.x;
        weights[j + 1] *= kept.y;
        weights[j + 2] *= kept.z;
        weights[j + 3] *= kept.w;
    }
}
#endif

/* sums *= the factors of their queries. */
static inline void rescale(struct column_sums *sums, const __local float *factors)
{
    float4 row_factors = vload4(0, factors + (int)get_local_id(0) / 8 * 4);
#define RESCALE(c) sums->s##c *= row_factors;
    EACH_COLUMN(RESCALE)
}

/* y = sums / total, of which two work-items a query know it. */
static inline void put_outputs(__global float *y, int y_stride, int count, int width,
                                        const struct column_sums *sums, float total, __local float *factors)
{
    int lane = (int)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane % 2 == 0) {
        factors[lane / 2] = total == 0.0f ? 0.0f : 1.0f / total;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    put_sums(y, y_stride, count, width, sums, vload4(0, factors + lane / 8 * 4));
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* A group takes 32 queries of one head of one sequence and up to 64 value columns; work-item (row, column)
 * of 8 x 8 holds four queries, their scores of four keys of a tile of 32, and every eighth output column of
 * them. The scores pass through local memory, where two work-items a query keep its maximum and sum. */
GPU_KERNEL void attention_forward_gpu(ATTENTION_ARGUMENTS)
{
    __local float tiles[TILES];
    __local float weights[BLOCK * (BLOCK + 1)];
    __local float parts[GROUP], sum_parts[GROUP], factors[BLOCK];
    int blocks = (sizes.max_queries + BLOCK - 1) / BLOCK;
    int tasks = sizes.sequences * sizes.heads * blocks * SLICES;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % SLICES * SLICE, block = task / SLICES;
        int sequence = block / blocks / sizes.heads, head = block / blocks % sizes.heads;
        int first = (blocks - 1 - block % blocks) * BLOCK;
        const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
        int queries = range[1], first_key = range[2], keys = range[3];
        int count = min(queries - first, BLOCK);
        if (count <= 0) {
            continue;
        }
        size_t query_row = (size_t)(range[0] + first);
        int end = sizes.causal ? min(first + count + keys - queries, keys) : keys;
        int query = first + (int)get_local_id(0) / 2;
        int last = query >= queries ? -1 : sizes.causal ? min(query + keys - queries, keys - 1) : keys - 1;
        struct view view = {query, last, sizes.reach, 0, 0, 0};
        view.hidden = hidden ? hidden + sizes.hidden.offset + first_key : 0;
        view.bias = relative ? ROW(relative, head) : 0;
        if (additive) {
            view.terms = ROW(additive, (size_t)sequence * sizes.max_queries + query);
        }
        struct running running = {-INFINITY, 0.0f};
        struct column_sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int tile = 0; tile < end; tile += BLOCK) {
            int width = min(end - tile, BLOCK);
            size_t key_row = (size_t)(first_key + tile);
            score_tile(weights, tiles, ROW(q, query_row) + head * KEY_WIDTH, sizes.q.stride, count, sizes.scale,
                       ROW(k, key_row) + head * KEY_WIDTH, sizes.k.stride, width, 1.0f);
            load_slice(tiles, ROW(v, key_row) + head * VALUE_WIDTH + slice, sizes.v.stride, width,
                       VALUE_WIDTH - slice);
            weigh_tile(&running, weights, parts, sum_parts, factors, tile, &view);
#ifdef HAS_DROPOUT
            drop_half_row(weights, tile, (range[0] + query) * sizes.heads + head, DROPOUT_NAMES);
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
            rescale(&sums, factors);
            add_tile_rows(&sums, weights, BLOCK + 1, 1, tiles, width);
        }
        put_outputs(ROW(y, query_row) + head * VALUE_WIDTH + slice, sizes.y.stride, count,
                             min(SLICE, VALUE_WIDTH - slice), &sums, running.total, factors);
    }
}
