/* Scaled dot-product attention in one pass. For each sequence, head h and query i, over the keys j of the sequence:
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

/* The keys and values to prefetch during a tile: those of this head starting at key `next` or, if `next` is 0,
 * those of the next head or of the first head of the next sequence. */
struct following {
    const __global float *k, *v;
    int count, has_queries; /* has_queries: also prefetch the queries of this block in the next head */
};

static inline struct following find_following(int sequence, int head, int next, const __global float *k,
                                              const __global float *v, const __global int *ranges,
                                              struct clf__attention_sizes sizes)
{
    int next_head = next > 0 ? head : (head + 1) % sizes.heads;
    int next_sequence = next > 0 || next_head > 0 ? sequence : sequence + 1;
    const __global int *range = ranges + sizes.ranges.offset + min(next_sequence, sizes.sequences - 1) * 4;
    struct following following;
    following.k = ROW(sizes, k, range[2] + next) + next_head * KEY_WIDTH;
    following.v = ROW(sizes, v, range[2] + next) + next_head * VALUE_WIDTH;
    following.count = next_sequence < sizes.sequences ? min(range[3] - next, TILE_KEYS) : 0;
    following.has_queries = next_sequence == sequence && next_head != head;
    return following;
}

/* Prefetches the share that corresponds to `rows` of `count` queries, starting at `row`. */
static inline void fetch_following(const struct following *following, int row, int rows, int count,
                                   const __global float *block_q, struct clf__attention_sizes sizes)
{
    int from = following->count * row / count, to = following->count * (row + rows) / count;
    fetch_rows(following->k + (size_t)from * sizes.k.stride, sizes.k.stride, to - from, KEY_WIDTH);
    fetch_rows(following->v + (size_t)from * sizes.v.stride, sizes.v.stride, to - from, VALUE_WIDTH);
    if (following->has_queries) {
        fetch_rows(block_q + (size_t)row * sizes.q.stride + KEY_WIDTH, sizes.q.stride, rows, KEY_WIDTH);
    }
}

/* Computes a block of queries of one head of one sequence, if it exists. Late blocks of a head, which are long
 * with causal masks, come first. During a tile the first block prefetches the next tile, and the last block
 * prefetches the tile of the next head. */
static inline void attention_task(struct attention_work *work, int task, ATTENTION_ARGUMENTS)
{
    int blocks = (sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries;
    int sequence = task / blocks / sizes.heads, head = task / blocks % sizes.heads;
    int first = (blocks - 1 - task % blocks) * sizes.block_queries;
    const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
    int queries = range[1], first_key = range[2], keys = range[3], causal = sizes.causal;
    int count = min(queries - first, sizes.block_queries);
    if (count <= 0) {
        return;
    }
    const __global float *block_q = ROW(sizes, q, range[0] + first) + head * KEY_WIDTH;
    __global result_element *results = (__global result_element *)y;
    __global result_element *block_y =
        results + sizes.y.offset + (size_t)(range[0] + first) * sizes.y.stride + head * VALUE_WIDTH;
    const __global float *bias = relative ? ROW(sizes, relative, head) : 0;
    const __global float *terms = additive ? ROW(sizes, additive, (size_t)sequence * sizes.max_queries + first) : 0;
    int last = causal ? first + keys - queries : keys - 1; /* the last key that the block's first query sees */
    int end = causal ? min(last + count, keys) : keys;
    int tile = 0;
    do { /* runs at least once, to clear the sums */
        int width = clamp(end - tile, 0, TILE_KEYS), next = tile + TILE_KEYS < end ? tile + TILE_KEYS : 0;
        int fetches = next > 0 ? queries - first <= sizes.block_queries : first == 0; /* once for all blocks of a head */
        struct following following = find_following(sequence, head, next, k, v, ranges, sizes);
        pack_rows(&work->keys[0][0], ROW(sizes, k, first_key + tile) + head * KEY_WIDTH, sizes.k.stride, width, KEY_WIDTH,
                  sizes.scale * M_LOG2E_F);
        find_unseen(work->unseen, hidden ? hidden + sizes.hidden.offset + first_key + tile : 0, width);
        for (int row = 0, rows; row < count; row += rows) {
            rows = rows_together(count - row);
            int seen = causal ? clamp(last + row + rows - tile, 0, width) : width; /* visible to any of these queries */
            int vectors = VECTORS(seen);
            if (fetches) {
                fetch_following(&following, row, rows, count, block_q, sizes);
            }
            score_rows(work, block_q + (size_t)row * sizes.q.stride, sizes.q.stride, rows, vectors);
            if (vectors * LANES > seen || hidden || bias || terms || (causal && tile + seen - 1 > last + row)) {
                mask_rows(work->scores, work->unseen, first + row, rows, tile, vectors, keys, last + row, causal, bias,
                          sizes.reach, terms ? terms + (size_t)row * sizes.additive.stride : 0, sizes.additive.stride);
            }
            weigh_rows(work, row, rows, vectors, tile == 0);
#ifdef HAS_DROPOUT
            for (int i = 0; i < rows; i++) {
                int mask_row = (range[0] + first + row + i) * sizes.heads + head;
                drop_weights(work->scores[i], tile, vectors, mask_row, DROPOUT_NAMES);
            }
#endif
            add_values(work, row, rows, ROW(sizes, v, first_key + tile) + head * VALUE_WIDTH, sizes.v.stride, seen, tile == 0);
        }
        tile += TILE_KEYS;
    } while (tile < end);
    for (int row = 0; row < count; row += MOST_ROWS) {
        finish_rows(block_y + (size_t)row * sizes.y.stride, sizes.y.stride, work, row, min(count - row, MOST_ROWS));
    }
}

CPU_KERNEL void attention_forward_cpu(ATTENTION_ARGUMENTS)
{
    struct attention_work work;
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + sizes.block_queries - 1) / sizes.block_queries);
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        attention_task(&work, task, ATTENTION_NAMES);
    }
}

/* ---- GPU variant: attention_blocks_gpu.cl describes how a group computes its queries ---- */
#include "include/attention_blocks_gpu.cl"

/* A task: a block of queries of one head of one sequence, and up to 64 columns of the values. */
struct block_task {
    struct sources from;
    struct view view;
    int end;        /* end of the keys that any of the queries sees */
    int plain;      /* end of the keys that all of them see, if no key is masked */
    int mask_row;   /* the row of the work-item's query in the dropout mask */
    __global result_element *y;
};

/* Finds task `task`; late blocks of a head, which are long with causal masks, come first. If from.count <= 0,
 * there is no such task. */
static inline void find_task(struct block_task *out, int task, const struct place *at, ATTENTION_ARGUMENTS)
{
    int blocks = (sizes.max_queries + QUERIES - 1) / QUERIES, slice = task % SLICES * SLICE, block = task / SLICES;
    int sequence = block / blocks / sizes.heads, head = block / blocks % sizes.heads;
    int first = (blocks - 1 - block % blocks) * QUERIES;
    const __global int *range = ranges + sizes.ranges.offset + sequence * 4;
    int queries = range[1], first_key = range[2], keys = range[3], count = min(queries - first, QUERIES);
    size_t query_row = (size_t)(range[0] + first);
    int shift = keys - queries, query = min(first + at->query, queries - 1);
    out->from = (struct sources){ROW(sizes, q, query_row) + head * KEY_WIDTH,
                                 ROW(sizes, k, first_key) + head * KEY_WIDTH,
                                 ROW(sizes, v, first_key) + head * VALUE_WIDTH + slice,
                                 sizes.q.stride,
                                 sizes.k.stride,
                                 sizes.v.stride,
                                 count,
                                 min(SLICE, VALUE_WIDTH - slice)};
    out->view = (struct view){query, sizes.causal ? min(query + shift, keys - 1) : keys - 1, sizes.reach, 0, 0, 0};
    out->view.hidden = hidden ? hidden + sizes.hidden.offset + first_key : 0;
    out->view.bias = relative ? ROW(sizes, relative, head) : 0;
    if (additive) {
        out->view.terms = ROW(sizes, additive, (size_t)sequence * sizes.max_queries + query);
    }
    out->end = sizes.causal ? min(first + count + shift, keys) : keys;
    out->plain = hidden || relative || additive ? 0 : sizes.causal ? min(first + shift + 1, keys) : keys;
    out->mask_row = (range[0] + query) * sizes.heads + head;
    out->y = ROW(sizes, y, query_row) + head * VALUE_WIDTH + slice;
}

/* at->weights = the scores of the `width` keys starting at `tile`, without masks. The stage holds the first chunk
 * of queries and keys on entry, and the first chunk of values on return. */
static inline void score_keys(const struct place *at, struct chunk *next, const struct sources *from, int tile, int width,
                              float scale)
{
    int has_keys = PLACE * 4 < width;
    struct block scores = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int d = DEPTH; d < KEY_WIDTH; d += DEPTH) {
        fetch_chunk(next, from, tile, width, d);
        if (has_keys) {
            multiply_chunk(&scores, at->stage, DEPTH);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        put_chunk(at->stage, next, from, tile, width, d);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    fetch_values(next, from, tile, width);
    if (has_keys) {
        multiply_chunk(&scores, at->stage, (KEY_WIDTH - 1) % DEPTH + 1);
        put_scores(at->weights, &scores, scale * M_LOG2E_F);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    put_values(at->stage, next, from, tile, width);
}

/* Turns the scores of a tile into weights, and stores the factors of the earlier sums in at->shares. */
static inline void weigh_keys(struct running *running, const struct place *at, const struct block_task *task, int tile,
                              int width COMMA_DROPOUT_ARGUMENTS)
{
    int has_part = at->key < width;
    at->parts[at->item] = -INFINITY;
    if (has_part) {
        if (tile + KEYS > task->plain) {
            mask_part(at->own, tile + at->key, &task->view);
        }
        at->parts[at->item] = find_largest(at->own);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float subtracted = raise_maximum(running, at);
    if (has_part) {
        running->total += weigh_part(at->own, subtracted);
#ifdef HAS_DROPOUT
        drop_part(at->own, tile + at->key, task->mask_row, DROPOUT_NAMES);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Adds the weighted values of a tile. The stage holds their first chunk on entry, and on return the first chunk of
 * queries and keys of the next tile, if there is one. */
static inline void add_weighted(struct block *sums, const struct place *at, struct chunk *next, const struct sources *from,
                                int tile, int width, int end)
{
    int key = 0, has_columns = PLACE * 4 < from->columns;
#pragma unroll 1
    for (; key + DEPTH < width; key += DEPTH) {
        int after = key + DEPTH;
        fetch_values(next, from, tile + after, width - after);
        if (has_columns) {
            sum_values(sums, at->weights + key * QUERIES, at->stage);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        put_values(at->stage, next, from, tile + after, width - after);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int following = min(end - tile - KEYS, KEYS); /* keys of the next tile; <= 0: none */
    if (following > 0) {
        fetch_chunk(next, from, tile + KEYS, following, 0);
    }
    if (has_columns) {
        sum_values(sums, at->weights + key * QUERIES, at->stage);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (following > 0) {
        put_chunk(at->stage, next, from, tile + KEYS, following, 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* memory: divided by place_in(). It is a parameter because PoCL 3.1 places arrays declared in a kernel of this size
 * at the same address for all threads. */
GPU_KERNEL_OF(ITEMS) void attention_forward_gpu(__local float4 *memory, ATTENTION_ARGUMENTS)
{
    struct place at = place_in(memory);
    int tasks = sizes.sequences * sizes.heads * ((sizes.max_queries + QUERIES - 1) / QUERIES) * SLICES;
    for (int number = (int)get_group_id(0); number < tasks; number += (int)get_num_groups(0)) {
        struct block_task task;
        find_task(&task, number, &at, ATTENTION_NAMES);
        if (task.from.count <= 0) {
            continue;
        }
        struct running running = {-INFINITY, 0.0f};
        struct block sums = {0.0f, 0.0f, 0.0f, 0.0f};
        struct chunk next;
        if (task.end > 0) {
            fetch_chunk(&next, &task.from, 0, min(task.end, KEYS), 0);
            put_chunk(at.stage, &next, &task.from, 0, min(task.end, KEYS), 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int tile = 0; tile < task.end; tile += KEYS) {
            int width = min(task.end - tile, KEYS);
            score_keys(&at, &next, &task.from, tile, width, sizes.scale);
            weigh_keys(&running, &at, &task, tile, width COMMA_DROPOUT_NAMES);
            rescale(&sums, at.shares);
            add_weighted(&sums, &at, &next, &task.from, tile, width, task.end);
        }
        put_outputs(task.y, sizes.y.stride, task.from.count, task.from.columns, &sums, running.total, &at);
    }
}
