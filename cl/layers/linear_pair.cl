/* Two linear layers with a norm between them, for the few rows of a decoding step, in one launch:
 *
 *   sums = x W1ᵀ + b1 + residual, normed = norm(sums), y = activation(normed W2ᵀ + b2)
 *
 * The work is a list of tasks: conversions of rows of x to operands, tiles of the first GEMM, norms of rows, tiles of
 * the second GEMM. A group takes the next task, waits for the tasks that complete its rows, and ends. Groups only wait for
 * tasks that running groups have taken, so not all groups need to be resident, unlike in decoder_layers_gpu.cl. The functions
 * are those of the kernels that separate launches would run, so the bits are the same.
 *
 * sums may be the residual. normed and operands (the result of the norm in fp32, and as the second GEMM reads it) may be
 * null. normed may be the residual, because the rows of a tile are independent of other tiles.
 *
 * GPU variant only. Needs PRECISION, GROUPS_TOGETHER and the macros of norm_row.cl, and one of: ACTIVATION, that of y;
 * WARPS, the warps of a group for GEMMs with matrix instructions. No argument is restrict or __constant: compilers could
 * load it through a read-only cache, which does not see what other groups wrote. */
#include "include/grid_barrier.cl"
#include "math/ops/arguments.h"

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

/* ---- The rows that the GEMMs read. SOURCE: x, or its converted rows; Intel's compiler needs more registers for a
 * pointer that it selects at run time. ---- */

#if PRECISION == 3 || defined(WARPS)
#define SOURCE(x, converted, sizes)                                                                                    \
    ((sizes).converts ? converted : (const __global operand *)(x) + (sizes).x.offset)
#define NORMED(normed, operands) operands
#else
#define SOURCE(x, converted, sizes) ((const __global operand *)(x) + (sizes).x.offset)
#define NORMED(normed, operands)    normed
#endif

/* Converts a row of x to operands, by the whole group. */
#if PRECISION == 3
static inline ALWAYS_INLINE void convert_row(__local float4 *memory, __global operand *to, int pitch, const __global float *from,
                                             int inputs)
{
    quantize_row_gpu((__local float2 *)memory, (__global uchar *)to, pitch, from, inputs, (int)get_local_id(0), ITEMS);
}
#elif defined(WARPS)
static inline ALWAYS_INLINE void convert_row(__local float4 *memory, __global operand *to, int pitch, const __global float *from,
                                             int inputs)
{
    for (int word = (int)get_local_id(0); word < count_slices(inputs) * SLICE_WORDS; word += ITEMS) {
        ((__global uint4 *)to)[word] = load_word16(from, word * CLF__WORD_HALVES, inputs);
    }
}
#else
#define convert_row(memory, to, pitch, from, inputs)
#endif

/* ---- Tasks ---- */

enum { CONVERT, FIRST, NORMALISE, SECOND };

/* A task: its stage, its first row, its first column if it is a tile. */
struct task {
    int stage, row, column;
};

static inline int count_row_tiles(int rows)
{
    return (rows + TILE_ROWS - 1) / TILE_ROWS;
}

static inline int count_columns(int outputs)
{
    return (outputs + TILE_COLUMNS - 1) / TILE_COLUMNS;
}

static inline struct task task_of(int n, const struct clf__linear_pair_sizes *sizes)
{
    int tiles = count_row_tiles(sizes->rows), converted = sizes->converts ? sizes->rows : 0;
    int first = tiles * count_columns(sizes->middle), norms = (sizes->rows + WAYS - 1) / WAYS;
    if (n < converted) {
        return (struct task){CONVERT, n, 0};
    }
    n -= converted;
    if (n < first) {
        return (struct task){FIRST, n % tiles * TILE_ROWS, n / tiles * TILE_COLUMNS};
    }
    n -= first;
    if (n < norms) {
        return (struct task){NORMALISE, n * WAYS, 0};
    }
    n -= norms;
    return (struct task){SECOND, n % tiles * TILE_ROWS, n / tiles * TILE_COLUMNS};
}

/* Returns the number of tasks of the previous stage that complete the rows of the task's tile. */
static inline int count_needed(const struct task *task, const struct clf__linear_pair_sizes *sizes)
{
    int tile_rows = min(TILE_ROWS, sizes->rows - task->row / TILE_ROWS * TILE_ROWS);
    return task->stage == FIRST    ? (sizes->converts ? tile_rows : 0)
           : task->stage == NORMALISE   ? count_columns(sizes->middle)
           : task->stage == SECOND ? (tile_rows + WAYS - 1) / WAYS
                                   : 0;
}

/* Normalises rows first .. end - 1. A sub-group of GROUP work-items processes a row; sub-groups without a row still reach
 * the same barriers. */
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

/* Returns the number of this group's task. */
static inline int take_task(__global uint *counters, __local int *answer)
{
    if (get_local_id(0) == 0) {
        *answer = (int)add_both(counters, 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int task = *answer;
    barrier(CLK_LOCAL_MEM_FENCE);
#if defined(HAS_SUBGROUPS) && defined(cl_intel_subgroups) /* tells the compiler that all work-items have this
                                                           * value, which needs fewer registers */
    task = sub_group_broadcast(task, 0);
#endif
    return task;
}

/* Ends a group; the last one clears all counters. */
static inline void leave(__global uint *counters)
{
    if (get_local_id(0) == 0 && add_both(counters + CLF__PAIR_LINE, 1) + 1 == (uint)get_num_groups(0)) {
        for (int i = 0; i < CLF__PAIR_COUNTERS; i += CLF__PAIR_LINE) {
            store_relaxed(counters + i, 0);
        }
    }
}

/* One group per task. x: fp32, or operands. converted: memory for the converted rows of x. */
GPU_KERNEL_OF(ITEMS) void linear_pair_gpu(__local float4 *memory, __global uint *counters, __global uint *failed,
                                          const __global void *x, __global operand *converted,
                                          const __global weight_element *w1, const __global float *b1,
                                          const __global float *residual, __global float *sums,
                                          const __global float *gamma, const __global float *beta,
                                          __global float *normed, __global ushort *operands,
                                          const __global weight_element *w2, const __global float *b2,
                                          __global float *y, struct clf__linear_pair_sizes sizes)
{
    __local int *answer = (__local int *)memory++;
    int number = take_task(counters, answer);
    const struct task task = task_of(number, &sizes);
    int tile = task.row / TILE_ROWS;
    const struct grid_barrier before = {counters + CLF__PAIR_COUNTER(max(task.stage - 1, 0), tile), failed + sizes.failed, answer,
                                        sizes.most_looks};
    int leaves = wait_for_groups(&before, (uint)count_needed(&task, &sizes), number == sizes.fails_at);
    if (!leaves && task.stage == CONVERT) {
        convert_row(memory, (__global operand *)((__global uchar *)converted + (size_t)task.row * sizes.x_pitch), sizes.x_pitch,
                    (const __global float *)x + sizes.x.offset + (size_t)task.row * sizes.x.stride, sizes.inputs);
    } else if (!leaves && task.stage == NORMALISE) {
        norm_rows(memory, task.row, min(task.row + WAYS, sizes.rows), sums, normed, operands, gamma, beta, &sizes);
    } else if (!leaves && task.stage == FIRST) {
        const struct gemm gemm = {
            .x = SOURCE(x, converted, sizes),
            .w = w1,
            .bias = b1,
            .residual = residual + sizes.residual.offset,
            .y = sums + sizes.sums.offset,
            .x_stride = sizes.converts ? sizes.x_pitch / 2 : sizes.x.stride,
            .residual_stride = sizes.residual.stride,
            .y_stride = sizes.sums.stride,
            .inputs = sizes.inputs,
            .outputs = sizes.middle,
        };
        multiply_rows(memory, &gemm, sizes.rows, task.row, task.column);
    } else if (!leaves) {
        const struct gemm gemm = {
            .x = NORMED(normed, operands) + sizes.NORMED(normed, operands).offset,
            .w = w2,
            .bias = b2,
            .y = sizes.is_rounded ? (__global float *)((__global ushort *)y + sizes.y.offset) : y + sizes.y.offset,
            .x_stride = sizes.NORMED(normed, operands).stride,
            .y_stride = sizes.y.stride,
            .inputs = sizes.middle,
            .outputs = sizes.outputs,
            .is_rounded = sizes.is_rounded,
            .activation = sizes.activation,
        };
        multiply_rows(memory, &gemm, sizes.rows, task.row, task.column);
    }
    const struct grid_barrier after = {counters + CLF__PAIR_COUNTER(task.stage, tile), failed, answer, 0};
    /* Also for the last stage, because PoCL 3.1 fails if a condition surrounds a barrier here, and for groups that stopped
     * waiting, because the flag already invalidates the results. */
    arrive(&after);
    leave(counters);
}
