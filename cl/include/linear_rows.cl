/* Tiles of a GEMM with few rows, and norms of rows, by a group of ITEMS work-items that may have other tasks as well: the
 * functions of the kernels that separate launches would run, so the bits are the same. GPU variant only.
 *
 * Needs PRECISION, GROUPS_TOGETHER and the macros of norm_row.cl, and one of: ACTIVATION, that of y; WARPS, the warps of a
 * group for GEMMs with matrix instructions. */
#if PRECISION == 3
#define QUANTIZED
#elif defined(WARPS)
#define RESULT_PRECISION PRECISION
#endif
#include "include/norm_row.cl"

#define ALWAYS_INLINE __attribute__((always_inline))

/* ---- Tiles of a GEMM. `operand` is the element of x. ---- */

#ifdef WARPS
#include "include/matrix.cl"
#define B_TILES 1
#include "include/matrix_result.cl"
#include "include/matrix_rows.cl"
#define ITEMS        (MATRIX_LANES * WARPS)
#define TILE_ROWS    MATRIX_ROWS
#define TILE_COLUMNS MATRIX_COLUMNS
typedef uint4 weight_element;
typedef ushort operand;
#else
#include "include/weight_gemm.cl"
#define ITEMS        TILE_GROUP
#define TILE_ROWS    CLF__SKINNY_ROWS
#define TILE_COLUMNS PANEL
#if PRECISION == 3
#include "include/skinny_int8_gpu.cl"
typedef ushort operand;
#else
#define SKINNY_BATCH 2 /* the tasks need registers */
#include "include/skinny_gpu.cl"
typedef float operand;
#endif
#endif
#define WAYS (ITEMS / GROUP) /* rows that a group normalises at once */

#if CLF__PAIR_TILE > TILE_ROWS || TILE_ROWS % WAYS != 0
#error "a tile of rows must consist of whole tasks"
#endif

/* y = activation(x Wᵀ + bias) + residual. */
struct gemm {
    const __global operand *x;
    const __global weight_element *w;
    const __global float *bias, *residual;
    __global float *y;
    int x_stride, residual_stride, y_stride, inputs, outputs, is_rounded, activation;
};

#ifdef WARPS
static inline ALWAYS_INLINE void multiply_rows(__local float4 *memory, const struct gemm *gemm, int rows, int row, int column)
{
    const struct matrix_result result = {
        .y = gemm->y,
        .y_stride = gemm->y_stride,
        .is_rounded = gemm->is_rounded,
        .residual = gemm->residual,
        .residual_stride = gemm->residual_stride,
        .bias = gemm->bias,
        .x = (const __global uint4 *)gemm->x,
        .x_pitch = gemm->x_stride / CLF__WORD_HALVES,
        .w = gemm->w,
        .rows = rows,
        .outputs = gemm->outputs,
        .slices = count_slices(gemm->inputs),
        .activation = gemm->activation,
        .scale = 1.0f,
    };
    const struct tile_warps at = {WARP, WARPS, (__local matrix_sum *)memory};
    matrix_sum totals[1][MATRIX_SUMS];
    multiply_tile(totals[0], &result, row, tile_of(gemm->w, column, result.slices), &at);
    if (WARP == 0) {
        finish_tiles(totals, row, column, &result);
    }
}
#elif PRECISION == 3
static inline ALWAYS_INLINE void multiply_rows(__local float4 *memory, const struct gemm *gemm, int rows, int row, int column)
{
    __local int *x_tile = (__local int *)memory;
    multiply_skinny_tile(x_tile, x_tile + SKINNY_GROUPS * SKINNY_ROWS, column, row, gemm->activation, gemm->y, 0,
                         gemm->y_stride, (const __global uchar *)gemm->x, 2 * gemm->x_stride, rows, gemm->w, gemm->inputs,
                         gemm->outputs, 1.0f, gemm->bias, gemm->residual, 0, gemm->residual_stride);
}
#else
static inline ALWAYS_INLINE void multiply_rows(__local float4 *memory, const struct gemm *gemm, int rows, int row, int column)
{
    __local float *x_tile = (__local float *)memory;
    multiply_skinny_tile(x_tile, x_tile + SKINNY_DEPTH * SKINNY_ROWS, column, row, gemm->activation, gemm->y, 0, gemm->y_stride,
                         gemm->x, 0, gemm->x_stride, rows, gemm->w, gemm->inputs, gemm->outputs, 1.0f, gemm->bias,
                         gemm->residual, 0, gemm->residual_stride);
}
#endif

/* The rows that a GEMM reads after a norm. */
#if PRECISION == 3 || defined(WARPS)
#define NORMED(normed, operands) operands
#else
#define NORMED(normed, operands) normed
#endif

static inline ALWAYS_INLINE struct gemm gemm_of_normed(const __global float *normed, const __global ushort *operands,
                                                       const __global weight_element *w, const __global float *bias,
                                                       __global float *y, const struct clf__linear_pair_sizes *sizes)
{
    return (struct gemm){
        .x = (const __global operand *)NORMED(normed, operands) + sizes->NORMED(normed, operands).offset,
        .w = w,
        .bias = bias,
        .y = sizes->is_rounded ? (__global float *)((__global ushort *)y + sizes->y.offset) : y + sizes->y.offset,
        .x_stride = sizes->NORMED(normed, operands).stride,
        .y_stride = sizes->y.stride,
        .inputs = sizes->middle,
        .outputs = sizes->outputs,
        .is_rounded = sizes->is_rounded,
        .activation = sizes->activation,
    };
}

/* Normalises rows first .. end - 1 of sums. GROUP work-items process a row; those without a row still reach the same
 * barriers. */
static inline ALWAYS_INLINE void norm_rows(__local float4 *memory, int first, int end, const __global float *sums, __global float *normed,
                                           __global ushort *operands, const __global float *gamma, const __global float *beta,
                                           const struct clf__linear_pair_sizes *sizes)
{
    int way = (int)get_local_id(0) / GROUP;
    for (; first < end; first += WAYS) {
        int own = first + way, row = min(own, end - 1), is_there = own < end;
        const struct norm_row out = row_of(normed && is_there ? ROW(*sizes, normed, row) : 0,
                                           operands && is_there ? ROW(*sizes, operands, row) : 0, sizes->operands.stride);
        norm_row_gpu((__local float *)memory + way * NORM_SHARED, &out, ROW(*sizes, sums, row), gamma, beta, sizes->middle,
                     sizes->epsilon);
    }
}
