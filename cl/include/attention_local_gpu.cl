/* The GPU variant of attention_local.cl; included by it, not a program. A task is a block of queries of a head,
 * with the tiles of keys that they see. */

/* Masks the scores of one query for the keys of a part, starting at `key` and below `end`. */
static inline void mask_window_part(__local float *scores, const struct key_set *keys, int position, int key, int end)
{
#pragma unroll 1
    for (int j = 0; j < PART; j++, key++) {
        int distance = key - position;
        float score = -INFINITY;
        if (key < end && distance <= keys->radius && distance >= -keys->radius) {
            score = scores[j * QUERIES];
            if (keys->bias) {
                score = fma(M_LOG2E_F, keys->bias[clamp(distance, -keys->reach, keys->reach) + keys->reach], score);
            }
        }
        scores[j * QUERIES] = score;
    }
}

/* A task: a block of queries of one head of one sequence, and up to 64 columns of its values. The tiles of the keys
 * around the queries come first, then those of the global tokens. */
struct block_task {
    struct sources from;
    struct key_set keys;
    int begin, end, own_tiles, tiles; /* the range of keys, and the tile counts */
    int query;                        /* the query whose weights the work-item computes */
    int sequence, head, slice;
    __global result_element *y;
};

/* Finds task `task`. If from.count <= 0, there is no such task. */
static inline void find_task(struct block_task *out, int task, const struct place *at, LOCAL_ARGUMENTS)
{
    int blocks = (sizes.max_queries + QUERIES - 1) / QUERIES, block = task / SLICES, first = block % blocks * QUERIES;
    out->slice = task % SLICES * SLICE;
    out->sequence = block / blocks / sizes.heads;
    out->head = block / blocks % sizes.heads;
    const __global int *range = ranges + sizes.ranges.offset + out->sequence * 4;
    int length = range[1], count = min(length - first, QUERIES);
    int global_count = globals ? globals[sizes.globals.offset + out->sequence * 2 + 1] : 0;
    out->begin = max(first - sizes.radius, 0) / KEYS * KEYS;
    out->end = first + count - 1 < length - sizes.radius ? first + count + sizes.radius : length;
    out->own_tiles = (out->end - out->begin + KEYS - 1) / KEYS;
    out->tiles = out->own_tiles + (global_count + KEYS - 1) / KEYS;
    out->query = min(first + at->query, length - 1);
    size_t query_row = (size_t)(range[0] + first);
    find_own_keys(&out->keys, out->head, range, LOCAL_NAMES);
    out->from = (struct sources){ROW(sizes, q, query_row) + out->head * KEY_WIDTH,
                                 out->keys.k,
                                 out->keys.v + out->slice,
                                 sizes.q.stride,
                                 out->keys.k_stride,
                                 out->keys.v_stride,
                                 count,
                                 min(SLICE, VALUE_WIDTH - out->slice)};
    out->y = ROW(sizes, y, query_row) + out->head * VALUE_WIDTH + out->slice;
}

/* Returns the first key of tile `number`; switches the task to the global tokens at their first tile. */
static inline int find_tile(struct block_task *task, int number, LOCAL_ARGUMENTS)
{
    if (number < task->own_tiles) {
        return task->begin + number * KEYS;
    }
    const __global int *range = globals + sizes.globals.offset + task->sequence * 2;
    find_global_keys(&task->keys, task->head, range[0], range[1], LOCAL_NAMES);
    task->end = range[1];
    task->from.k = task->keys.k;
    task->from.v = task->keys.v + task->slice;
    task->from.k_stride = task->keys.k_stride;
    task->from.v_stride = task->keys.v_stride;
    return (number - task->own_tiles) * KEYS;
}

/* at->weights = the scores of the `width` keys starting at `tile`, without masks; then fetches the first values. */
static inline void score_keys(const struct place *at, struct chunk *next, const struct sources *from, int tile, int width,
                              float scale)
{
    int has_keys = PLACE * 4 < width;
    struct block scores = {0.0f, 0.0f, 0.0f, 0.0f};
    fetch_chunk(next, from, tile, width, 0);
#pragma unroll 1
    for (int d = DEPTH; d < KEY_WIDTH; d += DEPTH) {
        put_chunk(at->stage, next, from, tile, width, d - DEPTH);
        barrier(CLK_LOCAL_MEM_FENCE);
        fetch_chunk(next, from, tile, width, d);
        if (has_keys) {
            multiply_chunk(&scores, at->stage, DEPTH);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    put_chunk(at->stage, next, from, tile, width, (KEY_WIDTH - 1) / DEPTH * DEPTH);
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch_values(next, from, tile, width);
    if (has_keys) {
        multiply_chunk(&scores, at->stage, (KEY_WIDTH - 1) % DEPTH + 1);
        put_scores(at->weights, &scores, scale * M_LOG2E_F);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Turns the scores of a tile into weights, and stores the factors of the earlier sums in at->shares. */
static inline void weigh_keys(struct running *running, const struct place *at, const struct block_task *task, int tile,
                              int width)
{
    int has_part = at->key < width;
    at->parts[at->item] = -INFINITY;
    if (has_part) {
        mask_window_part(at->own, &task->keys, position_of(task->query, &task->keys), tile + at->key, tile + width);
        at->parts[at->item] = find_largest(at->own);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float subtracted = raise_maximum(running, at);
    if (has_part) {
        running->total += weigh_part(at->own, subtracted);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Adds the weighted values of a tile, the first of which have been fetched. */
static inline void add_weighted(struct block *sums, const struct place *at, struct chunk *next, const struct sources *from,
                                int tile, int width)
{
#pragma unroll 1
    for (int key = 0; key < width; key += DEPTH) {
        put_values(at->stage, next, from, tile + key, width - key);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (key + DEPTH < width) {
            fetch_values(next, from, tile + key + DEPTH, width - key - DEPTH);
        }
        if (PLACE * 4 < from->columns) {
            sum_values(sums, at->weights + key * QUERIES, at->stage);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
