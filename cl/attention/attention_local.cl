/* Local attention within a window, and to global tokens (Guo et al. 2022, LongT5, section 3). For each sequence, head h and
 * query i, over the keys j of the sequence with |j - i| <= radius and over all of its global tokens g:
 *
 *     s[j] = scale * q[i] . k[j] + relative[h][clamp(j - i, -R, R) + R]
 *     s[g] = scale * q[i] . global_k[g] + global_relative[h][clamp(g - block(i), -R', R') + R']
 *     block(i) = min(i / block_size, global tokens of the sequence - 1)
 *     y[i] = the mean of v[j] and global_v[g] with weights exp(s - max s); zeros if there is no key
 *
 * q, k (rows, heads * KEY_WIDTH), v, y (rows, heads * VALUE_WIDTH); ranges (sequences, 4) of { first query, queries, first key,
 * keys }, with as many keys as queries; global_k and global_v as k and v; globals (sequences, 2) of { first row of global_k,
 * global tokens }; global_k, global_v and globals are null if there are no global tokens. relative (heads, 2 R + 1) and
 * global_relative may be null.
 *
 * Tiles of keys start at multiples of the tile size, counted from the first key of the sequence, so the result of a query
 * depends only on its sequence. The time is proportional to the number of pairs of a query and a visible key.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); RESULT_PRECISION (result.cl); for the GPU variant IS_ALIGNED, if every fourth
 * column of all keys, values and queries is 16-byte aligned. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_local.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#define TILE_KEYS 64 /* CPU variant; small, because a window has few keys */
#include "include/attention_blocks.cl"

#define LOCAL_ARGUMENTS                                                                                                \
    __global result_element *y, const __global float *q, const __global float *k, const __global float *v,             \
        const __global float *global_k, const __global float *global_v, const __global int *ranges,                    \
        const __global float *relative, const __global int *globals, const __global float *global_relative,            \
        struct clf__attention_local_sizes sizes
#define LOCAL_NAMES                                                                                                    \
    y, q, k, v, global_k, global_v, ranges, relative, globals, global_relative, sizes

/* The keys of one head: the keys of a sequence, or its global tokens. Query i has position min(i / divisor, last) among the
 * keys and sees keys within `radius`. */
struct key_set {
    const __global float *k, *v;
    const __global float *bias;
    int k_stride, v_stride, divisor, last, radius, reach;
};

static inline void find_own_keys(struct key_set *keys, int head, const __global int *range, LOCAL_ARGUMENTS)
{
    keys->k = ROW(sizes, k, range[2]) + head * KEY_WIDTH;
    keys->v = ROW(sizes, v, range[2]) + head * VALUE_WIDTH;
    keys->bias = relative ? ROW(sizes, relative, head) : 0;
    keys->k_stride = sizes.k.stride;
    keys->v_stride = sizes.v.stride;
    keys->divisor = 1;
    keys->last = range[3] - 1;
    keys->radius = sizes.radius;
    keys->reach = sizes.reach;
}

/* The sequence has `count` >= 1 global tokens starting at `first`. */
static inline void find_global_keys(struct key_set *keys, int head, int first, int count, LOCAL_ARGUMENTS)
{
    keys->k = ROW(sizes, global_k, first) + head * KEY_WIDTH;
    keys->v = ROW(sizes, global_v, first) + head * VALUE_WIDTH;
    keys->bias = global_relative ? ROW(sizes, global_relative, head) : 0;
    keys->k_stride = sizes.global_k.stride;
    keys->v_stride = sizes.global_v.stride;
    keys->divisor = sizes.block_size;
    keys->last = count - 1;
    keys->radius = count;
    keys->reach = sizes.global_reach;
}

static inline int position_of(int query, const struct key_set *keys)
{
    return min(query / keys->divisor, keys->last);
}

/* ---- CPU variant: a work-item computes block_queries queries of one head of one sequence ---- */

/* Masks the scores of `rows` queries starting at `query`, for vectors of keys starting at `key`. */
static inline void mask_window(float16 (*scores)[VECTORS(TILE_KEYS)], const int16 *unseen, const struct key_set *keys,
                               int query, int rows, int key, int vectors)
{
    const __global float *bias = keys->bias;
    int reach = keys->reach, radius = keys->radius;
    for (int row = 0; row < rows; row++) {
        int position = position_of(query + row, keys);
        for (int vector = 0; vector < vectors; vector++) {
            int distance = key + vector * LANES - position; /* distance of the first lane */
            float16 score = scores[row][vector];
            if (bias) {
                float lanes[LANES];
                for (int j = 0; j < LANES; j++) {
                    lanes[j] = bias[clamp(distance + j, -reach, reach) + reach];
                }
                score = fma16((float16)(M_LOG2E_F), vload16(0, lanes), score);
            }
            int16 distances = LANE_NUMBERS + distance;
            int16 is_unseen = unseen[vector] | (distances > radius) | (distances < -radius);
            scores[row][vector] = is_unseen != 0 ? (float16)(-INFINITY) : score;
        }
    }
}

/* Adds `width` keys starting at `tile` to the sums of `count` queries starting at `first`. starts: the tile is the
 * first one. */
static inline void fold_tile(struct attention_work *work, const struct key_set *keys, int tile, int width,
                             const __global float *block_q, int first, int count, int starts,
                             struct clf__attention_local_sizes sizes)
{
    const __global float *v = keys->v + (size_t)tile * keys->v_stride;
    pack_rows(&work->keys[0][0], keys->k + (size_t)tile * keys->k_stride, keys->k_stride, width, KEY_WIDTH,
              sizes.scale * M_LOG2E_F);
    find_unseen(work->unseen, 0, width);
    for (int row = 0, rows; row < count; row += rows) {
        rows = rows_together(count - row);
        int from = position_of(first + row, keys) - keys->radius, to = position_of(first + row + rows - 1, keys) + keys->radius;
        if (tile + width <= from || tile > to) {
            continue; /* none of these queries sees a key of the tile */
        }
        int seen = min(width, to - tile + 1), is_first = starts && tile == max(from, 0) / TILE_KEYS * TILE_KEYS;
        score_rows(work, block_q + (size_t)row * sizes.q.stride, sizes.q.stride, rows, VECTORS(seen));
        mask_window(work->scores, work->unseen, keys, first + row, rows, tile, VECTORS(seen));
        weigh_rows(work, row, rows, VECTORS(seen), is_first);
        add_values(work, row, rows, v, keys->v_stride, seen, is_first);
    }
}

static inline void local_task(struct attention_work *work, int task, LOCAL_ARGUMENTS)
{
    int blocks = (sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries;
    int sequence = task / blocks / sizes.heads, head = task / blocks % sizes.heads;
    int first = task % blocks * sizes.block_queries;
    const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
    int length = range[1], count = min(length - first, sizes.block_queries);
    if (count <= 0) {
        return;
    }
    const __global float *block_q = ROW(sizes, q, range[0] + first) + head * KEY_WIDTH;
    __global result_element *block_y = ROW(sizes, y, range[0] + first) + head * VALUE_WIDTH;
    struct key_set keys;
    find_own_keys(&keys, head, range, LOCAL_NAMES);
    int end = first + count - 1 < length - sizes.radius ? first + count + sizes.radius : length;
    for (int tile = max(first - sizes.radius, 0) / TILE_KEYS * TILE_KEYS; tile < end; tile += TILE_KEYS) {
        fold_tile(work, &keys, tile, min(end - tile, TILE_KEYS), block_q, first, count, 1, sizes);
    }
    const __global int *own = globals ? globals + sizes.globals.offset + sequence * 2 : 0;
    int global_count = own ? own[1] : 0;
    if (global_count > 0) {
        find_global_keys(&keys, head, own[0], global_count, LOCAL_NAMES);
        for (int tile = 0; tile < global_count; tile += TILE_KEYS) {
            fold_tile(work, &keys, tile, min(global_count - tile, TILE_KEYS), block_q, first, count, 0, sizes);
        }
    }
    for (int row = 0; row < count; row += MOST_ROWS) {
        finish_rows(block_y + (size_t)row * sizes.y.stride, sizes.y.stride, work, row, min(count - row, MOST_ROWS));
    }
}

CPU_KERNEL void attention_local_cpu(LOCAL_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        local_task(&work, task, LOCAL_NAMES);
    }
}

/* ---- GPU variant: groups and tiles are as in attention.cl ---- */
#include "include/attention_blocks_gpu.cl"
#include "include/attention_local_gpu.cl"

/* memory: as in attention_forward_gpu of attention.cl. */
GPU_KERNEL_OF(ITEMS) void attention_local_gpu(__local float4 *memory, LOCAL_ARGUMENTS)
{
    struct place at = place_in(memory);
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + QUERIES - 1) / QUERIES) * SLICES;
    for (int number = (int)get_group_id(0); number < tasks; number += (int)get_num_groups(0)) {
        struct block_task task;
        find_task(&task, number, &at, LOCAL_NAMES);
        if (task.from.count <= 0) {
            continue;
        }
        struct running running = {-INFINITY, 0.0f};
        struct block sums = {0.0f, 0.0f, 0.0f, 0.0f};
        struct chunk next;
#pragma unroll 1
        for (int n = 0; n < task.tiles; n++) {
            int tile = find_tile(&task, n, LOCAL_NAMES), width = min(task.end - tile, KEYS);
            score_keys(&at, &next, &task.from, tile, width, sizes.scale);
            weigh_keys(&running, &at, &task, tile, width);
            rescale(&sums, at.shares);
            add_weighted(&sums, &at, &next, &task.from, tile, width);
        }
        put_outputs(task.y, sizes.y.stride, task.from.count, task.from.columns, &sums, running.total, &at);
    }
}
