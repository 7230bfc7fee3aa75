/* Shared code of the kernels that use matrix instructions. Include file, not a program.
 *
 * A group's sub-groups of MATRIX_LANES work-items ("warps") multiply tiles of MATRIX_ROWS rows of A by MATRIX_COLUMNS
 * rows of B (columns of the result). Operands are read in 16-byte words: 8 neighbouring halves, or 16 neighbouring
 * bytes, of one row. A slice is SLICE_WORDS words of a row, and a level multiplies one slice at a time. A level may
 * permute K within a slice, in A and B alike.
 *
 * A level is one file, matrix_<level>.cl. It defines
 *     MATRIX_LANES, MATRIX_ROWS, MATRIX_COLUMNS  work-items of a warp; the tile of one instruction
 *     MATRIX_SUMS                    sums of a tile that each lane holds
 *     A_WORDS, A_ROW(lane, i), A_WORD(lane, i)  words of A that a lane holds, and where word i is: its row, its word of the slice
 *     B_WORDS, B_ROW(lane, i), B_WORD(lane, i)  likewise for B
 *     SUM_ROW(lane, i), SUM_COLUMN(lane, i)     where sum i is in the tile
 *     SUMS_ARE_PAIRED                optional: sums 2i and 2i + 1 are neighbours in a row
 *     SUMS_ARE_OPERANDS              optional: word i of A of a lane is in row SUM_ROW(lane, 2i) at SUM_COLUMN(lane, 0) / 2,
 *                                    which makes the rounded sums of four tiles words of A (matrix_reduce.cl)
 *     SHUFFLE_XOR(value, distance)   optional: the float that lane LANE ^ distance passes
 *     ANY_LANE(condition)            optional: whether the condition holds in any lane of the warp; 1 if the level cannot tell
 *     READS_ROWS                     optional: the level reads fragments of B from tiles whose rows are K
 *     LOAD_TRANSPOSED(row)           optional, with READS_ROWS: the fragment of B of 32 rows of 8 halves, of which `row` is the
 *                                    local word of row LANE; K is in the order of SUMS_ARE_OPERANDS
 *     ROUND_PAIR(low, high)          optional: two floats rounded to the 16 bits of PRECISION, the first in the low half
 *     multiply_slice(sums, a, b)     sums += A Bᵀ over a slice
 *     SLICE_STEPS                    optional: consecutive instructions for a slice, only in GEMM, with
 *                                    A_STEP_WORDS and B_STEP_WORDS(tiles), the words of a lane's fragments of a step,
 *                                    load_a_step(), load_b_step() and multiply_step(), of tiles in local memory, and
 *                                    fetch_a(), fetch_b() and multiply_fetched(), of slices in global memory; before it,
 *                                    exchange_a() of slices with A_EXCHANGE_WORDS each of a warp's own local memory
 *     FEW_REGISTERS                  optional: only GEMM uses the level, with small tiles
 *     UNROLL_SLICES                  optional: the pragma for loops over calls of multiply_slice(), if not "unroll"
 *     COPY_WORD(to, from), COPIES_END, WAIT_FOR_COPIES(n)  optional: asynchronous copies of words to local memory, the end of a
 *                                    batch of copies, and a wait for all batches except the last n
 *     COPY_WORD_IF(to, from, condition)  optional: the same copy if the condition holds, otherwise zeros, without reading *from
 *     FAST_EXP2(x)                   optional: 2^x to the accuracy of fp32, 0 at -inf
 *     FETCH_AHEAD(from)              optional: prefetches 128 bytes of global memory into the second-level cache
 *
 * Needs PRECISION (fp16, bf16 if the level has it, or int8), and a device whose build options name the level. */
#include "math/gemm/layout.h"

#if PRECISION == 3
typedef int matrix_sum;
#else
typedef float matrix_sum;
#endif

#define SLICE_WORDS  CLF__SLICE_WORDS
#define CHUNK_SLICES CLF__CHUNK_SLICES

#define LANE ((int)(get_local_id(0) % MATRIX_LANES))
#define WARP ((int)(get_local_id(0) / MATRIX_LANES))

/* The index of word `word` of row `row` in a local tile of `rows` rows, a multiple of 8. The swizzle avoids bank
 * conflicts between lanes that read neighbouring rows and words. */
#define TILE_PLACE(rows, row, word) ((word) * (rows) + ((row) ^ (2 * (word))))

#if defined(MATRIX_NV80)
#include "include/matrix_nv80.cl"
#elif defined(MATRIX_NV75)
#include "include/matrix_nv75.cl"
#elif defined(MATRIX_MFMA)
#include "include/matrix_mfma.cl"
#elif defined(MATRIX_WMMA11)
#include "include/matrix_wmma11.cl"
#elif defined(MATRIX_WMMA12)
#include "include/matrix_wmma12.cl"
#elif defined(MATRIX_DPAS8)
#include "include/matrix_dpas8.cl"
#elif defined(MATRIX_DPAS16)
#include "include/matrix_dpas16.cl"
#elif defined(MATRIX_EMULATED)
#include "include/matrix_emulated.cl"
#else
#error "the device has no matrix instructions"
#endif

#ifndef COPY_WORD
#define COPY_WORD(to, from) (*(to) = *(from))
#define COPIES_END
#define WAIT_FOR_COPIES(n)
#endif

#ifndef ANY_LANE
#define ANY_LANE(condition) ((condition) || 1)
#endif

#ifndef UNROLL_SLICES
#define UNROLL_SLICES _Pragma("unroll")
#endif

/* Loads the fragment of MATRIX_ROWS rows of a local tile, starting at row `first`, a multiple of 8. */
static inline void load_a_tile(uint4 *a, const __local uint4 *tile, int rows, int first)
{
#pragma unroll
    for (int i = 0; i < A_WORDS; i++) {
        a[i] = tile[first + TILE_PLACE(rows, A_ROW(LANE, i), A_WORD(LANE, i))];
    }
}

static inline void load_b_tile(uint4 *b, const __local uint4 *tile, int rows, int first)
{
#pragma unroll
    for (int i = 0; i < B_WORDS; i++) {
        b[i] = tile[first + TILE_PLACE(rows, B_ROW(LANE, i), B_WORD(LANE, i))];
    }
}

#ifndef SLICE_STEPS
#define SLICE_STEPS         1
#define A_STEP_WORDS        A_WORDS
#define B_STEP_WORDS(tiles) ((tiles) * B_WORDS)

static inline void load_a_step(uint4 *a, const __local uint4 *tile, int rows, int first, int step)
{
    load_a_tile(a, tile, rows, first);
}

static inline void load_b_step(uint4 *b, int tiles, const __local uint4 *tile, int rows, int first, int step)
{
#pragma unroll
    for (int j = 0; j < tiles; j++) {
        load_b_tile(b + j * B_WORDS, tile, rows, first + j * MATRIX_COLUMNS);
    }
}

static inline void multiply_step(matrix_sum *sums, const uint4 *a, const uint4 *b, int j)
{
    multiply_slice(sums, a, b + j * B_WORDS);
}

static inline void fetch_a(uint4 *a, const FRESH __global uint4 *x, int pitch, int rows)
{
#pragma unroll
    for (int i = 0; i < A_WORDS; i++) {
        int row = A_ROW(LANE, i);
        a[i] = row < rows ? x[row * (size_t)pitch + A_WORD(LANE, i)] : (uint4)(0);
    }
}

static inline void fetch_b(uint4 *b, const __global uint4 *w, int is_there)
{
#pragma unroll
    for (int i = 0; i < B_WORDS; i++) {
        b[i] = is_there ? w[B_WORD(LANE, i) * PANEL + B_ROW(LANE, i)] : (uint4)(0);
    }
}

#define A_EXCHANGE_WORDS                 0
#define exchange_a(a, slices, exchange)
#define multiply_fetched multiply_slice
#endif

static inline void clear_sums(matrix_sum *sums)
{
#pragma unroll
    for (int i = 0; i < MATRIX_SUMS; i++) {
        sums[i] = 0;
    }
}

static inline void copy_sums(matrix_sum *to, const matrix_sum *from)
{
#pragma unroll
    for (int i = 0; i < MATRIX_SUMS; i++) {
        to[i] = from[i];
    }
}

/* Ends a chunk: totals += sums, sums = 0. Every kernel adds the same chunks in the same order. */
static inline void end_chunk(matrix_sum *totals, matrix_sum *sums)
{
#pragma unroll
    for (int i = 0; i < MATRIX_SUMS; i++) {
        totals[i] += sums[i];
        sums[i] = 0;
    }
}
