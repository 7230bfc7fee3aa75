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
#include "include/linear_rows.cl"

/* ---- The rows that the first GEMM reads: x, or its converted rows; Intel's compiler needs more registers for a pointer that
 * it selects at run time. ---- */

#if PRECISION == 3 || defined(WARPS)
#define SOURCE(x, converted, sizes)                                                                                    \
    ((sizes).converts ? converted : (const __global operand *)(x) + (sizes).x.offset)
#else
#define SOURCE(x, converted, sizes) ((const __global operand *)(x) + (sizes).x.offset)
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
        const struct gemm gemm = gemm_of_normed(normed, operands, w2, b2, y, &sizes);
        multiply_rows(memory, &gemm, sizes.rows, task.row, task.column);
    }
    const struct grid_barrier after = {counters + CLF__PAIR_COUNTER(task.stage, tile), failed, answer, 0};
    /* Also for the last stage, because PoCL 3.1 fails if a condition surrounds a barrier here, and for groups that stopped
     * waiting, because the flag already invalidates the results. */
    arrive(&after);
    leave(counters);
}
