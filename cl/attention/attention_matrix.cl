/* Scaled dot-product attention over blocks of queries by matrix instructions, in one pass (Dao 2022; Dao 2023). The formula, the
 * operands and the masks are those in attention.cl. q, k, v and the weights of the keys are rounded to PRECISION before they
 * are multiplied; scores, softmax and sums are fp32.
 *
 * A group takes WARPS * MATRIX_ROWS queries of one head of one sequence, a warp MATRIX_ROWS of them. Keys and values are copied
 * to local memory in tiles of 64, from the first key of the sequence on. Queries stay in registers, and so do the scores of a
 * tile and the sums. A value tile is transposed: rows of columns, words of keys.
 *
 * A query's bits depend on its own sequence: not on WARPS, nor on other sequences.
 *
 * Needs PRECISION (fp16 or bf16), KEY_WIDTH and VALUE_WIDTH (multiples of 16), WARPS. HAS_BIAS if relative or additive is not
 * null. IS_ALIGNED if every fourth column of all of q, k and v starts on 16 bytes. RESULT_PRECISION (equal to PRECISION): y is
 * in 16 bits, for a product that reads it so. */
#include "include/matrix.cl"
#include "include/operand16.cl"
#include "ops/arguments.h"

#include "include/matrix_reduce.cl"

#if KEY_WIDTH % 16 != 0 || VALUE_WIDTH % 16 != 0
#error "attention_matrix.cl needs widths that are multiples of 16"
#endif
#if defined(RESULT_PRECISION) && RESULT_PRECISION != PRECISION
#error "attention_matrix.cl rounds its result as its operands"
#endif

#define ITEM         ((int)(get_local_id(0) % ITEMS))
#define ITEMS        (WARPS * MATRIX_LANES)
#define QUERIES      (WARPS * MATRIX_ROWS) /* of a group */
#define KEYS         64                    /* of a tile */
#define SLICE_HALVES (8 * SLICE_WORDS)
#define KEY_SLICES   ((KEY_WIDTH + SLICE_HALVES - 1) / SLICE_HALVES)
#define KEY_TILES    (KEYS / MATRIX_COLUMNS)
#define VALUE_TILES  (VALUE_WIDTH / MATRIX_COLUMNS)

/* native_exp2 where it is known to be accurate, and to be 0 at -inf. */
#if defined(__NV_CL_C_VERSION) || defined(__AMDGCN__)
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif

/* ---- operands ---- */

static inline float4 load_four(const __global float *from)
{
#ifdef IS_ALIGNED
    return *(const __global float4 *)from;
#else
    return vload4(0, from);
#endif
}

/* Word `word` of a row of queries or keys; zeros beyond KEY_WIDTH. */
static inline uint4 load_word(const __global float *row, int word)
{
    if (KEY_WIDTH % SLICE_HALVES != 0 && 8 * word >= KEY_WIDTH) {
        return (uint4)(0);
    }
    return pack_word16(load_four(row + 8 * word), load_four(row + 8 * word + 4));
}

/* The fragments of a warp's queries; beyond the block's last query they repeat it. */
static inline void load_queries(uint4 (*queries)[A_WORDS], const __global float *q, int stride, int count)
{
#pragma unroll
    for (int i = 0; i < A_WORDS; i++) {
        int row = min(WARP * MATRIX_ROWS + A_ROW(LANE, i), count - 1);
#pragma unroll
        for (int s = 0; s < KEY_SLICES; s++) {
            queries[s][i] = load_word(q + row * stride, s * SLICE_WORDS + A_WORD(LANE, i));
        }
    }
}

/* A slice of `width` keys; beyond them the last one repeats. SLICE_WORDS neighbouring items share a row. */
static inline void copy_keys(__local uint4 *tile, const __global float *k, int stride, int width)
{
    int word = ITEM % SLICE_WORDS, row = ITEM / SLICE_WORDS;
    __local uint4 *to = tile + TILE_PLACE(KEYS, row, word);
#pragma unroll
    for (int first = 0; first < SLICE_HALVES; first += ITEMS / SLICE_WORDS) {
        const __global float *key = k + min(first + row, width - 1) * stride;
        if (ITEMS <= SLICE_HALVES * SLICE_WORDS || row < SLICE_HALVES) {
#pragma unroll
            for (int s = 0; s < KEY_SLICES; s++) {
                to[s * (KEYS * SLICE_WORDS) + first] = load_word(key, s * SLICE_WORDS + word);
            }
        }
    }
}

/* The place of word `word` of row `row` of tile t of a slice of values. Tiles exchange their rows, so that the stores of
 * copy_values() are free of bank conflicts. */
#define VALUE_PLACE(t, row, word)                                                                                      \
    ((t)*MATRIX_COLUMNS + TILE_PLACE(VALUE_WIDTH, (row) ^ ((t) % (32 / MATRIX_COLUMNS)), word))

/* A slice of `width` values, transposed; beyond them the last one repeats. Its keys are in the order of OPERAND_COLUMN, in which
 * round_sums() returns their weights. An item loads four columns of two keys that share a pair of halves; 32 items take a word
 * of 32 columns. */
static inline void copy_values(__local uint4 *tile, const __global float *v, int stride, int width)
{
    enum { CELLS = SLICE_WORDS * ((VALUE_WIDTH + 31) / 32), TOGETHER = ITEMS / 32 };
    int own = ITEM / 32, pair = ITEM % 32 / 8, column = ITEM % 8 * 4;
    int row = column % MATRIX_COLUMNS, t = column / MATRIX_COLUMNS;
    __local uint *to = (__local uint *)tile + pair;
#pragma unroll
    for (int cell = 0; cell < CELLS; cell += TOGETHER) {
        /* In both cases the quotient and the remainder of cell + own by SLICE_WORDS. */
        int is_word = TOGETHER <= SLICE_WORDS, word = is_word ? cell % SLICE_WORDS + own : own % SLICE_WORDS;
        int first = (is_word ? cell / SLICE_WORDS : (cell + own) / SLICE_WORDS) * 32;
        int low_key = OPERAND_COLUMN(8 * word + 2 * pair), high_key = OPERAND_COLUMN(8 * word + 2 * pair + 1);
        if (VALUE_WIDTH % 32 == 0 || first + column < VALUE_WIDTH) {
            float4 low = load_four(v + min(low_key, width - 1) * stride + first + column);
            float4 high = load_four(v + min(high_key, width - 1) * stride + first + column);
            __local uint *columns = to + 4 * first;
            columns[4 * VALUE_PLACE(t, row, word)] = pack_operand16((float2)(low.x, high.x));
            columns[4 * VALUE_PLACE(t, row + 1, word)] = pack_operand16((float2)(low.y, high.y));
            columns[4 * VALUE_PLACE(t, row + 2, word)] = pack_operand16((float2)(low.z, high.z));
            columns[4 * VALUE_PLACE(t, row + 3, word)] = pack_operand16((float2)(low.w, high.w));
        }
    }
}

/* A head's keys and values of a sequence. */
struct memory {
    const __global float *k, *v;
    int k_stride, v_stride, end; /* end: of the keys that the block's queries see */
};

/* The tile from key `tile` on, in whole slices. */
static inline void copy_tile(__local uint4 *keys, __local uint4 *values, const struct memory *memory, int tile)
{
    int end = min(memory->end - tile, KEYS);
#pragma unroll 1
    for (int first = 0; first < end; first += SLICE_HALVES) {
        copy_keys(keys + first, memory->k + (size_t)(tile + first) * memory->k_stride, memory->k_stride, end - first);
    }
#pragma unroll 1
    for (int first = 0; first < end; first += SLICE_HALVES) {
        copy_values(values + first / 8 * VALUE_WIDTH, memory->v + (size_t)(tile + first) * memory->v_stride,
                    memory->v_stride, end - first);
    }
}

/* ---- products ---- */

/* scores = queries keysᵀ for the slices of keys that begin below `width`; zeros beyond them. */
static inline void multiply_keys(matrix_sum (*scores)[MATRIX_SUMS], const uint4 (*queries)[A_WORDS],
                                 const __local uint4 *tile, int width)
{
    UNROLL_SLICES
    for (int t = 0; t < KEY_TILES; t++) {
        clear_sums(scores[t]);
        if (t / SLICE_TILES * SLICE_HALVES < width) {
            UNROLL_SLICES
            for (int s = 0; s < KEY_SLICES; s++) {
                uint4 b[B_WORDS];
                load_b_tile(b, tile + s * (KEYS * SLICE_WORDS), KEYS, t * MATRIX_COLUMNS);
                multiply_slice(scores[t], queries[s], b);
            }
        }
    }
}

/* sums += weights values, over a slice of keys. */
static inline void multiply_values(matrix_sum (*sums)[MATRIX_SUMS], const uint4 *weights, const __local uint4 *tile)
{
    UNROLL_SLICES
    for (int t = 0; t < VALUE_TILES; t++) {
        uint4 b[B_WORDS];
#pragma unroll
        for (int i = 0; i < B_WORDS; i++) {
            b[i] = tile[VALUE_PLACE(t, B_ROW(LANE, i), B_WORD(LANE, i))];
        }
        multiply_slice(sums[t], weights, b);
    }
}

/* ---- softmax ---- */

/* The masks of a lane's rows. hidden, bias (of the head) and terms (of the sequence) may be null. */
struct view {
    int query[LANE_ROWS], last[LANE_ROWS]; /* the last key that it sees */
    int end, reach, terms_stride; /* end: of the sequence's keys */
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* A lane's scores are times log2(e), maxima are its rows', totals its own part of theirs. */
struct softmax {
    float maxima[LANE_ROWS], totals[LANE_ROWS];
};

#define SUM_OF(r, e) ((r)*ROW_SUMS + (e)) /* sum e of row r of a lane */

#ifdef HAS_BIAS
/* Adds the biases to row r of a lane's scores: of ROW_SUMS keys of each tile, the first of them `key`. The query sees `left` keys
 * after that one. */
static inline void add_bias(matrix_sum (*scores)[MATRIX_SUMS], int r, int key, int left, const struct view *view)
{
    const __global float *terms = view->terms + (size_t)view->query[r] * view->terms_stride + key;
    int distance = key - view->query[r] + view->reach, most = 2 * view->reach;
#pragma unroll
    for (int t = 0; t < KEY_TILES; t++) {
#pragma unroll
        for (int e = 0; e < ROW_SUMS; e++) {
            int next = t * MATRIX_COLUMNS + e;
            float score = scores[t][SUM_OF(r, e)];
            if (view->bias) {
                score = fma(M_LOG2E_F, view->bias[clamp(distance + next, 0, most)], score);
            }
            if (view->terms && next <= left) {
                score = fma(M_LOG2E_F, terms[next], score);
            }
            scores[t][SUM_OF(r, e)] = score;
        }
    }
}
#endif

/* The scores of hidden keys become -inf. hidden: from a lane's first key of the tile on; `left` keys follow that one. */
static inline void hide_keys(matrix_sum (*scores)[MATRIX_SUMS], const __global int *hidden, int left)
{
#pragma unroll
    for (int t = 0; t < KEY_TILES; t++) {
#pragma unroll
        for (int e = 0; e < ROW_SUMS; e++) {
            int is_hidden = hidden[min(t * MATRIX_COLUMNS + e, left)];
#pragma unroll
            for (int r = 0; r < LANE_ROWS; r++) {
                scores[t][SUM_OF(r, e)] = is_hidden ? -INFINITY : scores[t][SUM_OF(r, e)];
            }
        }
    }
}

/* Scales the scores of the keys from `tile` on; -inf where a query must not look. */
static inline void mask_scores(matrix_sum (*scores)[MATRIX_SUMS], float scale, int tile, const struct view *view)
{
    int key = tile + SUM_COLUMN(LANE, 0);
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
        int left = view->last[r] - key;
#pragma unroll
        for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
            scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] *= scale;
        }
#ifdef HAS_BIAS
        add_bias(scores, r, key, left, view);
#endif
#pragma unroll
        for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
            int is_seen = n / ROW_SUMS * MATRIX_COLUMNS + n % ROW_SUMS <= left;
            float score = scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)];
            scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] = is_seen ? score : -INFINITY;
        }
    }
    if (view->hidden) {
        hide_keys(scores, view->hidden + key, view->end - 1 - key);
    }
}

/* Row r of a lane's scores = 2^(scores - maximum), with the maximum up to this tile. Returns the factor for earlier sums. */
static inline float weigh_row(matrix_sum (*scores)[MATRIX_SUMS], int r, struct softmax *softmax, __local uint4 *exchange)
{
    float largest = -INFINITY, total = 0.0f;
#pragma unroll
    for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
        largest = fmax(largest, scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)]);
    }
    largest = fmax(softmax->maxima[r], row_max(largest, exchange));
    /* A query that has seen nothing yet: subtracting 0 instead of -inf gives weights 0, not NaN. */
    float subtracted = largest == -INFINITY ? 0.0f : largest;
    float factor = EXP2(softmax->maxima[r] - subtracted);
#pragma unroll
    for (int n = 0; n < KEY_TILES * ROW_SUMS; n++) {
        float weight = EXP2(scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] - subtracted);
        scores[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] = weight;
        total += weight;
    }
    softmax->maxima[r] = largest;
    softmax->totals[r] = fma(softmax->totals[r], factor, total);
    return factor;
}

/* Makes weights of the scores, and scales earlier sums. */
static inline void weigh_scores(matrix_sum (*scores)[MATRIX_SUMS], matrix_sum (*sums)[MATRIX_SUMS],
                                struct softmax *softmax, __local uint4 *exchange)
{
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
        float factor = weigh_row(scores, r, softmax, exchange);
#pragma unroll
        for (int n = 0; n < VALUE_TILES * ROW_SUMS; n++) {
            sums[n / ROW_SUMS][SUM_OF(r, n % ROW_SUMS)] *= factor;
        }
    }
}

/* A lane's neighbouring sums of a row, times share, go to the result from element `at` on. */
static inline void store_sums(__global float *y, size_t at, const matrix_sum *sums, float share, int in_pairs)
{
#ifdef RESULT_PRECISION
    __global ushort *to = (__global ushort *)y + at;
#else
    __global float *to = y + at;
#endif
#ifdef SUMS_ARE_PAIRED
    float2 pair = (float2)(sums[0], sums[1]) * share;
#ifdef RESULT_PRECISION
    uint rounded = pack_operand16(pair);
    if (in_pairs) {
        *(__global uint *)to = rounded;
    } else {
        to[0] = (ushort)rounded;
        to[1] = (ushort)(rounded >> 16);
    }
#else
    if (in_pairs) {
        *(__global float2 *)to = pair;
    } else {
        to[0] = pair.x;
        to[1] = pair.y;
    }
#endif
#elif defined(RESULT_PRECISION)
    store_operand16(sums[0] * share, to);
#else
    *to = sums[0] * share;
#endif
}

/* y = sums / totals, for the warp's queries below `count`. */
static inline void store_results(__global float *y, struct clf__place place, size_t first_row, int first_column,
                                 int count, matrix_sum (*sums)[MATRIX_SUMS], const float *totals)
{
    int in_pairs = (place.offset | place.stride) % 2 == 0;
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
        int row = WARP * MATRIX_ROWS + SUM_ROW(LANE, SUM_OF(r, 0));
        float share = totals[r] == 0.0f ? 0.0f : 1.0f / totals[r];
        size_t start = place.offset + (first_row + row) * place.stride + first_column + SUM_COLUMN(LANE, 0);
        if (row < count) {
#pragma unroll
            for (int t = 0; t < VALUE_TILES; t++) {
                store_sums(y, start + t * MATRIX_COLUMNS, &sums[t][SUM_OF(r, 0)], share, in_pairs);
            }
        }
    }
}

/* ---- a block of queries ---- */

/* The block of a task: `count` queries from `first` on of a head of a sequence, and the keys below `end` that they see. */
struct block {
    int sequence, head, first, count, first_key, keys, shift, end;
    size_t query_row;
};

static inline struct block find_block(int task, int blocks, const __global int *ranges,
                                      const struct clf__attention_sizes *sizes)
{
    struct block block = {.sequence = task / blocks / sizes->heads, .head = task / blocks % sizes->heads};
    const __global int *range = ranges + sizes->ranges.offset + block.sequence * 4;
    block.first = (blocks - 1 - task % blocks) * QUERIES; /* causal blocks with the most keys come first */
    block.count = min(range[1] - block.first, QUERIES);
    block.query_row = (size_t)(range[0] + block.first);
    block.first_key = range[2];
    block.keys = range[3];
    block.shift = range[3] - range[1];
    block.end = sizes->causal ? min(block.first + block.count + block.shift, block.keys) : block.keys;
    return block;
}

/* The end of the keys that the warp's queries see; 0 for a warp without queries. */
static inline int find_end(const struct block *block, int causal)
{
    int rows = min(block->count - WARP * MATRIX_ROWS, MATRIX_ROWS);
    int last = block->first + WARP * MATRIX_ROWS + rows + block->shift;
    return rows <= 0 ? 0 : causal ? min(last, block->keys) : block->keys;
}

static inline struct view find_view(const struct block *block, const __global int *hidden, const __global float *additive,
                                    const __global float *relative, const struct clf__attention_sizes *sizes)
{
    struct view view = {.end = block->keys, .reach = sizes->reach, .terms_stride = sizes->additive.stride};
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
        view.query[r] = block->first + min(WARP * MATRIX_ROWS + SUM_ROW(LANE, SUM_OF(r, 0)), block->count - 1);
        view.last[r] = sizes->causal ? min(view.query[r] + block->shift, block->keys - 1) : block->keys - 1;
    }
    view.hidden = hidden ? hidden + sizes->hidden.offset + block->first_key : 0;
    view.bias = relative ? relative + sizes->relative.offset + (size_t)block->head * sizes->relative.stride : 0;
    view.terms = additive ? additive + sizes->additive.offset +
                                (size_t)block->sequence * sizes->max_queries * sizes->additive.stride
                          : 0;
    return view;
}

GPU_KERNEL_OF(ITEMS) void attention_matrix_gpu(__global float *y, const __global float *q, const __global float *k,
                                               const __global float *v, const __global int *ranges,
                                               const __global int *hidden, const __global float *additive,
                                               const __global float *relative, struct clf__attention_sizes sizes)
{
    __local uint4 key_tile[KEYS * SLICE_WORDS * KEY_SLICES], value_tile[KEYS / 8 * VALUE_WIDTH];
    __local uint4 exchanges[WARPS * EXCHANGE_WORDS + 1], *exchange = exchanges + WARP * EXCHANGE_WORDS;
    int blocks = (sizes.max_queries + QUERIES - 1) / QUERIES, tasks = sizes.sequences * sizes.heads * blocks;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const struct block block = find_block(task, blocks, ranges, &sizes);
        if (block.count <= 0) {
            continue;
        }
        const struct view view = find_view(&block, hidden, additive, relative, &sizes);
        const struct memory memory = {ROW(k, block.first_key) + block.head * KEY_WIDTH,
                                      ROW(v, block.first_key) + block.head * VALUE_WIDTH, sizes.k.stride,
                                      sizes.v.stride, block.end};
        int own_end = find_end(&block, sizes.causal);
        uint4 queries[KEY_SLICES][A_WORDS];
        load_queries(queries, ROW(q, block.query_row) + block.head * KEY_WIDTH, sizes.q.stride, block.count);
        matrix_sum sums[VALUE_TILES][MATRIX_SUMS];
        struct softmax softmax;
#pragma unroll
        for (int r = 0; r < LANE_ROWS; r++) {
            softmax.maxima[r] = -INFINITY;
            softmax.totals[r] = 0.0f;
        }
#pragma unroll
        for (int t = 0; t < VALUE_TILES; t++) {
            clear_sums(sums[t]);
        }
        for (int tile = 0; tile < block.end; tile += KEYS) {
            barrier(CLK_LOCAL_MEM_FENCE);
            copy_tile(key_tile, value_tile, &memory, tile);
            barrier(CLK_LOCAL_MEM_FENCE);
#ifndef NEEDS_ALL_WARPS
            if (tile >= own_end) {
                continue;
            }
#endif
            matrix_sum scores[KEY_TILES][MATRIX_SUMS];
            multiply_keys(scores, queries, key_tile, own_end - tile);
            mask_scores(scores, sizes.scale * M_LOG2E_F, tile, &view);
            weigh_scores(scores, sums, &softmax, exchange);
#pragma unroll
            for (int slice = 0; slice < KEYS / SLICE_HALVES; slice++) {
                uint4 weights[A_WORDS];
                round_sums(weights, scores + slice * SLICE_TILES, exchange);
                if (tile + slice * SLICE_HALVES < own_end) {
                    multiply_values(sums, weights, value_tile + slice * (VALUE_WIDTH * SLICE_WORDS));
                }
            }
        }
        float totals[LANE_ROWS];
#pragma unroll
        for (int r = 0; r < LANE_ROWS; r++) {
            totals[r] = row_sum(softmax.totals[r], exchange);
        }
        store_results(y, sizes.y, block.query_row, block.head * VALUE_WIDTH, block.count, sums, totals);
    }
}
