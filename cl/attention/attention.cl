/* Scaled dot-product attention in one pass. For each sequence, head h and query i of it, over its keys j:
 *
 *     s[j] = scale * q[i] . k[j] + relative[h][clamp(j - i, -R, R) + R] + additive[i][j], -inf if i must not see j
 *     y[i] = sum_j exp(s[j] - m) v[j] / sum_j exp(s[j] - m), m = max_j s[j]; zeros if every s[j] is -inf
 *
 * q (query rows, heads * KEY_WIDTH), k (key rows, heads * KEY_WIDTH), v (key rows, heads * VALUE_WIDTH), y
 * (query rows, heads * VALUE_WIDTH); ranges (sequences, 4) of { first query, queries, first key, keys }.
 * Keys are processed in tiles, starting at the first key, with a running maximum and sum (online softmax), so the
 * result of a query depends only on its sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT for kernels that drop weights;
 * RESULT_PRECISION (result.cl); for the GPU variant IS_ALIGNED, if every fourth column of q, k and v is 16-byte
 * aligned. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#include "include/attention_blocks.cl"

/* ---- CPU variant: a work-item computes block_queries queries of one head of one sequence ---- */

CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        attention_task(&work, task, y, q, k, v, ranges, hidden, additive, relative, sizes COMMA_DROPOUT_NAMES);
    }
}

/* ---- GPU variant: attention_blocks_gpu.cl describes how a group computes its queries ---- */
#include "include/attention_blocks_gpu.cl"

/* memory: STAGE + KEYS * QUERIES + ITEMS + QUERIES floats. It is a parameter because PoCL 3.1 gives arrays
 * declared in a kernel of this size one address for all threads. */
GPU_KERNEL_OF(ITEMS) void attention_forward_gpu(__local float4 *memory, ATTENTION_ARGUMENTS)
{
    __local float *stage = (__local float *)memory, *weights = stage + STAGE;
    __local float *parts = weights + KEYS * QUERIES, *shares = parts + ITEMS;
    int item = ITEM, place = item % QUERIES, own_key = item / QUERIES * PART;
    __local float *own = weights + own_key * QUERIES + place; /* scores of this work-item */
    int blocks = (sizes.max_queries + QUERIES - 1) / QUERIES;
    int tasks = sizes.sequences * sizes.heads * blocks * SLICES;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % SLICES * SLICE, block = task / SLICES;
        int sequence = block / blocks / sizes.heads, head = block / blocks % sizes.heads;
        int first = (blocks - 1 - block % blocks) * QUERIES;
        const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
        int queries = range[1], first_key = range[2], keys = range[3];
        int count = min(queries - first, QUERIES);
        if (count <= 0) {
            continue;
        }
        size_t query_row = (size_t)(range[0] + first);
        struct sources from = {ROW(q, query_row) + head * KEY_WIDTH,
                               ROW(k, first_key) + head * KEY_WIDTH,
                               ROW(v, first_key) + head * VALUE_WIDTH + slice,
                               sizes.q.stride,
                               sizes.k.stride,
                               sizes.v.stride,
                               count,
                               min(SLICE, VALUE_WIDTH - slice)};
        int shift = keys - queries, end = sizes.causal ? min(first + count + shift, keys) : keys;
        int query = min(first + place, queries - 1);
        struct view view = {query, sizes.causal ? min(query + shift, keys - 1) : keys - 1, sizes.reach, 0, 0, 0};
        view.hidden = hidden ? hidden + sizes.hidden.offset + first_key : 0;
        view.bias = relative ? ROW(relative, head) : 0;
        if (additive) {
            view.terms = ROW(additive, (size_t)sequence * sizes.max_queries + query);
        }
        /* The keys that all queries see, if no key is masked. */
        int plain = hidden || relative || additive ? 0 : sizes.causal ? min(first + shift + 1, keys) : keys;
        struct running running = {-INFINITY, 0.0f};
        struct block sums = {0.0f, 0.0f, 0.0f, 0.0f};
        struct chunk next;
        if (end > 0) {
            fetch_products(&next, &from, 0, min(end, KEYS), 0);
            put_products(stage, &next, &from, 0, min(end, KEYS), 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int tile = 0; tile < end; tile += KEYS) {
            int width = min(end - tile, KEYS), has_keys = PLACE * 4 < width;
            struct block scores = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
            for (int d = DEPTH; d < KEY_WIDTH; d += DEPTH) {
                fetch_products(&next, &from, tile, width, d);
                if (has_keys) {
                    add_products(&scores, stage, DEPTH);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                put_products(stage, &next, &from, tile, width, d);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            fetch_values(&next, &from, tile, width);
            if (has_keys) {
                add_products(&scores, stage, (KEY_WIDTH - 1) % DEPTH + 1);
                put_scores(weights, &scores, sizes.scale * M_LOG2E_F);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            put_values(stage, &next, &from, tile, width);
            int has_part = own_key < width;
            parts[item] = -INFINITY;
            if (has_part) {
                if (tile + KEYS > plain) {
                    mask_part(own, tile + own_key, &view);
                }
                parts[item] = find_largest(own);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            float largest = fmax(running.maximum, max4(PARTS_OF(parts, place)));
            /* For a query that has seen no key yet, subtracting 0 instead of -inf gives weights 0, not
             * NaN. */
            float subtracted = largest == -INFINITY ? 0.0f : largest;
            float factor = EXP2(running.maximum - subtracted);
            running.maximum = largest;
            running.total *= factor;
            if (item < QUERIES) {
                shares[item] = factor;
            }
            if (has_part) {
                running.total += weigh_part(own, subtracted);
#ifdef HAS_DROPOUT
                drop_part(own, tile + own_key, (range[0] + query) * sizes.heads + head, DROPOUT_NAMES);
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            rescale(&sums, shares);
            int key = 0, has_columns = PLACE * 4 < from.columns;
#pragma unroll 1
            for (; key + DEPTH < width; key += DEPTH) {
                int after = key + DEPTH;
                fetch_values(&next, &from, tile + after, width - after);
                if (has_columns) {
                    sum_values(&sums, weights + key * QUERIES, stage);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                put_values(stage, &next, &from, tile + after, width - after);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            int following = min(end - tile - KEYS, KEYS); /* keys of the next tile; <= 0: none */
            if (following > 0) {
                fetch_products(&next, &from, tile + KEYS, following, 0);
            }
            if (has_columns) {
                sum_values(&sums, weights + key * QUERIES, stage);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (following > 0) {
                put_products(stage, &next, &from, tile + KEYS, following, 0);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        put_outputs(ROW(y, query_row) + head * VALUE_WIDTH + slice, sizes.y.stride, count, from.columns, &sums,
                    running.total, parts, shares);
    }
}
