/* Attention of few queries over the keys of their sequence, CPU variant: the second half of attention_step.cl, also
 * used by decoder_layer.cl. Include file, not a program.
 *
 * Keys are processed in parts of PART_KEYS, and the results of the parts are added in order. The parts of
 * a long sequence can therefore be distributed over several cores, which read memory sequentially, with
 * the same bits. */

/* Adds the partial result of some keys to the result of the previous parts. */
static inline void join(struct running *to, const struct running *part)
{
    float maximum = fmax(to->maximum, part->maximum), subtracted = maximum == -INFINITY ? 0.0f : maximum;
    float factors[2] = {exp2_16((float16)(to->maximum - subtracted)).s0, exp2_16((float16)(part->maximum - subtracted)).s0};
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        to->sums[c] = fma16(part->sums[c], (float16)(factors[1]), to->sums[c] * factors[0]);
    }
    to->total = fma(part->total, factors[1], to->total * factors[0]);
    to->maximum = maximum;
}

static inline void store_running(__global float *partial, const struct running *running)
{
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        vstore16(running->sums[c], c, partial);
    }
    partial[VECTORS(VALUE_WIDTH) * LANES] = running->maximum;
    partial[VECTORS(VALUE_WIDTH) * LANES + 1] = running->total;
}

static inline void load_running(struct running *running, const __global float *partial)
{
#pragma unroll
    for (int c = 0; c < VECTORS(VALUE_WIDTH); c++) {
        running->sums[c] = vload16(c, partial);
    }
    running->maximum = partial[VECTORS(VALUE_WIDTH) * LANES];
    running->total = partial[VECTORS(VALUE_WIDTH) * LANES + 1];
}

/* The offset of the sums of a part in the partial sums. */
static inline size_t partial_of(size_t row, int head, int part, struct clf__attention_sizes sizes)
{
    return sizes.partials.offset + ((row * sizes.heads + head) * sizes.parts + part) * PARTIAL;
}

static inline int count_parts(int keys)
{
    return max((keys - 1) / PART_KEYS + 1, 1);
}

/* Returns the number of blocks of queries times the number of parts of keys (1 if parts are not separate tasks). */
static inline int count_blocks(struct clf__attention_sizes sizes)
{
    return sizes.sequences * ((sizes.max_queries - 1) / STEP_QUERIES + 1) * sizes.parts;
}

static inline int rows_together_of(struct clf__attention_sizes sizes)
{
    return heads_together(count_blocks(sizes), sizes.heads, clamp(sizes.max_queries, 1, STEP_QUERIES));
}

static inline int count_row_tasks(int together, struct clf__attention_sizes sizes)
{
    return count_blocks(sizes) * count_head_groups(sizes.heads, together);
}

/* The work of one task: queries of a sequence, some heads, some keys. */
struct block {
    size_t row; /* row of the first query */
    int sequence, first, queries, part, first_head, heads;
    int first_key, own, end; /* own and end: the ends of the keys that the first and the last query may see */
};

static inline struct block block_of(int task, int together, const __global int *ranges, struct clf__attention_sizes sizes)
{
    int head_groups = count_head_groups(sizes.heads, together), blocks = (sizes.max_queries - 1) / STEP_QUERIES + 1;
    int number = task / head_groups / sizes.parts;
    struct block block = {.part = task / head_groups % sizes.parts, .first_head = task % head_groups * together};
    block.sequence = number / blocks;
    block.first = number % blocks * STEP_QUERIES;
    const __global int *range = ranges + sizes.ranges.offset + block.sequence * 4;
    block.heads = min(together, sizes.heads - block.first_head);
    block.queries = min(range[1] - block.first, STEP_QUERIES);
    block.row = (size_t)(range[0] + block.first);
    block.first_key = range[2];
    block.own = sizes.causal ? block.first + range[3] - range[1] + 1 : range[3];
    block.end = sizes.causal ? min(block.own + block.queries - 1, range[3]) : range[3];
    return block;
}

/* Masks a query's scores of count keys starting at `key`; the query sees keys before `seen`. hidden (of these
 * keys), bias (of the head) and terms (row of the query) may be null. */
static inline void mask_scores(float *scores, int query, int key, int count, int seen, const __global int *hidden,
                               const __global float *bias, int reach, const __global float *terms)
{
    for (int t = 0; t < count; t++) {
        float score = scores[t];
        score = bias ? fma(M_LOG2E_F, relative_bias(bias, reach, key + t, query), score) : score;
        score = terms ? fma(M_LOG2E_F, terms[key + t], score) : score;
        scores[t] = key + t >= seen || (hidden && hidden[t]) ? -INFINITY : score;
    }
}

/* Adds a tile of the block's keys. */
static inline void fold_tile(struct step_work *work, const struct block *block, int tile, int count,
                             const __global cache_element *k, const __global cache_element *v, const __global int *hidden,
                             const __global float *additive, const __global float *relative,
                             struct clf__attention_sizes sizes)
{
    work->row_count = min(block->end - tile, TILE + LANES);
    for (int t = 0; t < work->row_count; t++) {
        work->rows[t] = block->first_key + tile + t;
    }
    const struct cached cached = {ROW(sizes, k, 0) + block->first_head * KEY_WIDTH,
                                  ROW(sizes, v, 0) + block->first_head * VALUE_WIDTH,
                                  sizes.k.stride, sizes.v.stride};
    score_tile(work, block->heads, block->queries, &cached, count);
    for (int n = 0; n < block->heads * block->queries; n++) {
        int i = n % block->queries, head = block->first_head + n / block->queries, query = block->first + i;
        if (hidden || relative || additive || sizes.causal) {
            mask_scores(work->scores[n], query, tile, count, sizes.causal ? block->own + i : block->end,
                        hidden ? hidden + sizes.hidden.offset + block->first_key + tile : 0,
                        relative ? ROW(sizes, relative, head) : 0, sizes.reach,
                        additive ? ROW(sizes, additive, (size_t)block->sequence * sizes.max_queries + query) : 0);
        }
        weigh_tile(work, n, count);
    }
    add_tile(work, block->heads, block->queries, &cached, count);
}

/* Computes the running sums of one part of the block's keys. */
static inline void sum_part(struct step_work *work, const struct block *block, int part, const __global cache_element *k,
                            const __global cache_element *v, const __global int *hidden, const __global float *additive,
                            const __global float *relative, struct clf__attention_sizes sizes)
{
    int end = min((part + 1) * PART_KEYS, block->end);
    for (int n = 0; n < block->heads * block->queries; n++) {
        begin(&work->running[n]);
    }
    for (int tile = part * PART_KEYS; tile < end; tile += TILE) {
        fold_tile(work, block, tile, min(end - tile, TILE), k, v, hidden, additive, relative, sizes);
    }
}

/* Runs one task. If `partials` is not null and there are several parts, the task computes one part of its
 * keys and stores the result in `partials`. */
static inline void rows_task(struct step_work *work, int task, int together, __global float *partials,
                             ATTENTION_ARGUMENTS_OF(cache_element))
{
    const struct block block = block_of(task, together, ranges, sizes);
    int parts = count_parts(block.end), first = partials ? block.part : 0, end = partials ? first + 1 : parts;
    int states = block.heads * block.queries;
    if (block.queries <= 0 || first >= parts) {
        return;
    }
    for (int n = 0; n < states; n++) {
        load_step_query(work->queries[n],
                        ROW(sizes, q, block.row + n % block.queries) + (block.first_head + n / block.queries) * KEY_WIDTH,
                        sizes.scale * M_LOG2E_F);
    }
    for (int part = first; part < end; part++) {
        sum_part(work, &block, part, k, v, hidden, additive, relative, sizes);
        for (int n = 0; n < states; n++) {
            size_t row = block.row + n % block.queries;
            int head = block.first_head + n / block.queries;
            if (partials && parts > 1) {
                store_running(partials + partial_of(row, head, part, sizes), &work->running[n]);
                continue;
            }
            if (part == 0) {
                work->earlier[n] = work->running[n];
            } else {
                join(&work->earlier[n], &work->running[n]);
            }
            if (part == parts - 1) {
                finish(ROW(sizes, y, row) + head * VALUE_WIDTH, &work->earlier[n]);
            }
        }
    }
}

/* Joins the parts of query n % max_queries of a sequence, if the query exists and its keys were split. */
static inline void join_task(int n, __global result_element *y, const __global float *partials, const __global int *ranges,
                             struct clf__attention_sizes sizes)
{
    const __global int *range = ranges + sizes.ranges.offset + n / sizes.max_queries * 4;
    int index = n % sizes.max_queries, parts = count_parts(range[3]);
    size_t row = (size_t)(range[0] + index);
    for (int head = 0; index < range[1] && parts > 1 && head < sizes.heads; head++) {
        struct running all, part;
        load_running(&all, partials + partial_of(row, head, 0, sizes));
        for (int p = 1; p < parts; p++) {
            load_running(&part, partials + partial_of(row, head, p, sizes));
            join(&all, &part);
        }
        finish(ROW(sizes, y, row) + head * VALUE_WIDTH, &all);
    }
}
