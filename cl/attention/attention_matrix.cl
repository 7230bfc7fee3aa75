/* Scaled dot-product attention over blocks of queries with matrix instructions, in one pass (Dao 2022; Dao 2023). The
 * formula, the operands and the masks are as in attention.cl. q, k, v and the weights of the keys are rounded to
 * PRECISION before they are multiplied; scores, softmax and sums are fp32.
 *
 * A group computes QUERIES queries of one head of one sequence, and a warp computes ROW_TILES * MATRIX_ROWS of them.
 * Keys and values are copied to local memory in tiles, starting at the first key of the sequence
 * (attention_matrix_tiles.cl). Queries, the scores of a tile and the sums stay in registers.
 *
 * The bits of a query's result depend only on its sequence, not on WARPS, ROW_TILES or other sequences.
 *
 * Needs PRECISION (fp16 or bf16), KEY_WIDTH and VALUE_WIDTH (multiples of 16), WARPS and ROW_TILES. HAS_BIAS
 * if relative or additive is not null. OPERANDS_ARE_ROUNDED if q, k and v are in 16 bits, of PRECISION, and
 * every eighth column is 16-byte aligned. IS_ALIGNED if they are floats, and every fourth column is 16-byte
 * aligned. RESULT_PRECISION (equal to PRECISION): y is in 16 bits, for a GEMM that reads that type. */
#include "include/matrix.cl"
#include "include/operand16.cl"
#include "math/ops/arguments.h"

#include "include/matrix_reduce.cl"

#if KEY_WIDTH % 16 != 0 || VALUE_WIDTH % 16 != 0
#error "attention_matrix.cl needs widths that are multiples of 16"
#endif
#if defined(RESULT_PRECISION) && RESULT_PRECISION != PRECISION
#error "attention_matrix.cl rounds its result as its operands"
#endif

#include "include/attention_matrix_tiles.cl"

#define WARP_QUERIES (ROW_TILES * MATRIX_ROWS)
#define QUERIES      (WARPS * WARP_QUERIES) /* queries per group */
#define ROWS         (ROW_TILES * LANE_ROWS) /* rows per lane */

/* Uses the fast function of the level if the function is accurate and returns 0 at -inf. */
#ifdef FAST_EXP2
#define EXP2 FAST_EXP2
#elif defined(__AMDGCN__)
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif

/* For a query that has seen no key yet, subtracts 0 instead of -inf, which makes the weights 0, not NaN. */
#define SUBTRACTED(maximum) ((maximum) == -INFINITY ? 0.0f : (maximum))

#include "include/attention_matrix_softmax.cl"

/* Stores adjacent sums of a row, times `share`, in the result starting at element `at`. */
INLINE void store_sums(__global float *y, size_t at, const matrix_sum *sums, float share, int in_pairs)
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
INLINE void store_results(__global float *y, struct clf__place place, int first_row, int first_column,
                          int count, matrix_sum (*sums)[VALUE_TILES][MATRIX_SUMS], const float *totals)
{
    int in_pairs = (place.offset | place.stride) % 2 == 0;
    UNROLL_SLICES
    for (int i = 0; i < ROWS; i++) {
        int row = WARP * WARP_QUERIES + i / LANE_ROWS * MATRIX_ROWS + SUM_ROW(LANE, SUM_OF(i % LANE_ROWS, 0));
        float share = totals[i] == 0.0f ? 0.0f : 1.0f / totals[i];
        size_t start = place.offset + (size_t)(first_row + row) * place.stride + first_column + SUM_COLUMN(LANE, 0);
        if (row < count) {
            UNROLL_SLICES
            for (int t = 0; t < VALUE_TILES; t++) {
                store_sums(y, start + t * MATRIX_COLUMNS, &sums[i / LANE_ROWS][t][SUM_OF(i % LANE_ROWS, 0)], share, in_pairs);
            }
        }
    }
}

/* ---- a block of queries ---- */

/* The block of a task: `count` queries of a head of a sequence, starting at `first`, and the end of the keys that
 * they see. Query i sees the keys up to i + shift, which are all keys if attention is not causal. */
struct block {
    int sequence, head, first, count, query_row, first_key, keys, shift, end;
};

/* Finds the block of a task; after the last task, `sequence` is the number of sequences. */
INLINE struct block find_block(int task, const __global int *ranges, const struct clf__attention_sizes *sizes)
{
    int blocks = (sizes->max_queries + QUERIES - 1) / QUERIES;
    struct block block = {.sequence = task / blocks / sizes->heads, .head = task / blocks % sizes->heads};
    const __global int *range = ranges + sizes->ranges.offset + min(block.sequence, sizes->sequences - 1) * 4;
    block.first = (blocks - 1 - task % blocks) * QUERIES; /* causal blocks with the most keys come first */
    block.count = min(range[1] - block.first, QUERIES);
    block.query_row = range[0] + block.first;
    block.first_key = range[2];
    block.keys = range[3];
    block.shift = sizes->causal ? range[3] - range[1] : range[3];
    block.end = min(block.first + block.count + block.shift, block.keys);
    return block;
}

INLINE struct view find_view(const struct block *block, const __global int *hidden, const __global float *additive,
                             const __global float *relative, const struct clf__attention_sizes *sizes)
{
    struct view view = {.end = block->keys, .shift = block->shift, .reach = sizes->reach,
                        .terms_stride = sizes->additive.stride};
    view.first = block->first + WARP * WARP_QUERIES;
    view.last = block->first + block->count - 1;
    view.hidden = hidden ? hidden + sizes->hidden.offset + block->first_key : 0;
    view.bias = relative ? relative + sizes->relative.offset + (size_t)block->head * sizes->relative.stride : 0;
    view.terms = additive ? additive + sizes->additive.offset +
                                (size_t)block->sequence * sizes->max_queries * sizes->additive.stride
                          : 0;
    return view;
}

/* Returns the end of the keys that every query of the warp sees; 0 if keys may be hidden or biased. */
INLINE int find_whole_end(const struct view *view)
{
#ifdef HAS_BIAS
    return 0;
#else
    return view->hidden ? 0 : last_key_of(view, min(view->first, view->last)) + 1;
#endif
}

/* Returns the end of the keys that any query of the warp sees; 0 for a warp without queries. */
INLINE int find_end(const struct view *view)
{
    return view->first > view->last ? 0 : last_key_of(view, min(view->first + WARP_QUERIES - 1, view->last)) + 1;
}

/* Computes sums and softmax of the warp's queries over all keys. */
INLINE void attend(matrix_sum (*sums)[VALUE_TILES][MATRIX_SUMS], struct softmax *softmax,
                   const uint4 (*queries)[KEY_SLICES][A_WORDS], const struct view *view, const struct memory *memory,
                   float scale, __local uint4 *stages, __local uint4 *exchange)
{
    int own_end = find_end(view), whole_end = find_whole_end(view);
    float unit = UNIT(scale);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (STAGES == 2 && memory->end > 0) {
        copy_tile(stages, memory, 0);
    }
    for (int tile = 0; tile < memory->end; tile += KEYS) {
        __local uint4 *stage = stages + tile / KEYS % STAGES * STAGE_WORDS;
        if (STAGES == 1) {
            copy_tile(stage, memory, tile);
        }
        WAIT_FOR_COPIES(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (STAGES == 2 && tile + KEYS < memory->end) {
            copy_tile(stages + (tile / KEYS + 1) % STAGES * STAGE_WORDS, memory, tile + KEYS);
        }
#ifdef NEEDS_ALL_WARPS
        int has_keys = 1;
#else
        int has_keys = tile < own_end;
#endif
        if (has_keys) {
            matrix_sum scores[ROW_TILES][KEY_TILES][MATRIX_SUMS];
            multiply_keys(scores, queries, stage, own_end - tile);
            if (tile + KEYS > whole_end) {
                UNROLL_SLICES
                for (int m = 0; m < ROW_TILES; m++) {
                    mask_scores(scores[m], m, scale, tile, view);
                }
            }
            raise_maxima(scores, sums, softmax, unit, exchange);
            add_values(sums, scores, softmax, unit, stage + KEY_TILE_WORDS, own_end - tile, exchange);
        }
        if (STAGES == 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

GPU_KERNEL_OF(ITEMS) void attention_matrix_gpu(__global float *y, const __global operand *q, const __global operand *k,
                                               const __global operand *v, const __global int *ranges,
                                               const __global int *hidden, const __global float *additive,
                                               const __global float *relative, struct clf__attention_sizes sizes)
{
    __local uint4 stages[STAGES * STAGE_WORDS] __attribute__((aligned(ROW_BYTES)));
    __local uint4 exchanges[WARPS * EXCHANGE_WORDS + 1], *exchange = exchanges + WARP * EXCHANGE_WORDS;
    for (int task = (int)get_group_id(0);; task += (int)get_num_groups(0)) {
        const struct block block = find_block(task, ranges, &sizes);
        if (block.sequence >= sizes.sequences) {
            break;
        }
        if (block.count <= 0) {
            continue;
        }
        const struct view view = find_view(&block, hidden, additive, relative, &sizes);
        const struct memory memory = {.k = k, .v = v, .k_stride = sizes.k.stride, .v_stride = sizes.v.stride, .end = block.end,
                                      .k_first = sizes.k.offset + block.first_key * sizes.k.stride + block.head * KEY_WIDTH,
                                      .v_first = sizes.v.offset + block.first_key * sizes.v.stride + block.head * VALUE_WIDTH};
        uint4 queries[ROW_TILES][KEY_SLICES][A_WORDS];
        load_queries(queries, ROW(sizes, q, block.query_row) + block.head * KEY_WIDTH, sizes.q.stride, block.count);
        matrix_sum sums[ROW_TILES][VALUE_TILES][MATRIX_SUMS];
        struct softmax softmax;
        UNROLL_SLICES
        for (int i = 0; i < ROWS; i++) {
            softmax.maxima[i] = -INFINITY;
            softmax.totals[i] = 0.0f;
        }
        UNROLL_SLICES
        for (int n = 0; n < ROW_TILES * VALUE_TILES; n++) {
            clear_sums(sums[n / VALUE_TILES][n % VALUE_TILES]);
        }
        attend(sums, &softmax, queries, &view, &memory, sizes.scale, stages, exchange);
        UNROLL_SLICES
        for (int i = 0; i < ROWS; i++) {
            softmax.totals[i] = row_sum(softmax.totals[i], exchange);
        }
        /* Find the block again, because attend() needs the registers. */
        const struct block done = find_block(task, ranges, &sizes);
        store_results(y, sizes.y, done.query_row, done.head * VALUE_WIDTH, done.count, sums, softmax.totals);
    }
}
