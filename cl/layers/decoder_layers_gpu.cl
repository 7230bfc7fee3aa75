/* Decoder layers for one new token per row (Vaswani 2017, 3.1) in one launch of resident groups, which
 * process a list of stages (lib/math/layers/stages.h) with a barrier after each, because separate launches would
 * cost more than the stages. The stages call the functions of the kernels that lib/math/layers/layer.c would
 * launch, so the bits are the same.
 *
 * Buffers are arguments, and stages name a buffer and a place in it. Activations are written during the launch, so
 * they are never read through restrict or constant pointers.
 *
 * GPU variant only. Needs PRECISION (fp16, bf16 or int8), the macros of attention_step.cl and norm_row.cl,
 * and GROUPS_TOGETHER. */
#include "include/grid_barrier.cl"
#include "include/matrix.cl"
#include "math/layers/stages.h"

#define WAYS (CLF__STAGE_GROUP / GROUP)
#if PRECISION == 3 /* attention and GEMMs have float results */
#define QUANTIZED
#else
#define RESULT_PRECISION PRECISION
#endif

#define WITHOUT_KERNELS
#include "attention/attention_step.cl"
#include "include/norm_row.cl"
#define B_TILES        1
#define FETCHED_SLICES (CLF__CHUNK_SLICES / 2 / B_WORDS) /* smaller, because attention needs registers as well */
#include "include/matrix_result.cl"
#if PRECISION == 3 /* integer sums are exact in any order, so smaller chunks can use more warps */
#undef CHUNK_SLICES
#define CHUNK_SLICES (CLF__CHUNK_SLICES / 2)
#endif
#include "include/matrix_rows.cl"
#include "include/decoder_stages.cl"

#define BUFFER_ARGUMENTS                                                                                               \
    __global uint4 *b0, __global uint4 *b1, __global uint4 *b2, __global uint4 *b3, __global uint4 *b4,                \
        __global uint4 *b5, __global uint4 *b6, __global uint4 *b7, __global uint4 *b8, __global uint4 *b9,            \
        __global uint4 *b10, __global uint4 *b11, __global uint4 *b12, __global uint4 *b13, __global uint4 *b14,       \
        __global uint4 *b15
#define BUFFER_NAMES b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15

static inline __global uint4 *buffer_of(int index, BUFFER_ARGUMENTS)
{
    switch (index) {
    case 0: return b0;
    case 1: return b1;
    case 2: return b2;
    case 3: return b3;
    case 4: return b4;
    case 5: return b5;
    case 6: return b6;
    case 7: return b7;
    case 8: return b8;
    case 9: return b9;
    case 10: return b10;
    case 11: return b11;
    case 12: return b12;
    case 13: return b13;
    case 14: return b14;
    default: return b15;
    }
}

/* Returns the index in the list of stage s of the launch. */
static inline int stage_of(int s, const struct clf__stages_sizes *sizes)
{
    return s < sizes->rounds ? 0 : sizes->first + s - sizes->rounds;
}

/* Runs in as many groups as are resident at once. arrived: the counter of the barriers; the counters of parts follow
 * at CLF__ARRIVALS and are zero. memory: enough for attention, a norm and a GEMM. */
GPU_KERNEL_OF(CLF__STAGE_GROUP) void decoder_layers_gpu(__local float4 *memory, __global uint *arrived, __global uint *failed,
                                                        int failed_offset,
                                                        const __global struct clf__stage *stages,
                                                        const __global float *vectors, __global float *x,
                                                        __global ushort *operands, __global uint4 *work,
                                                        __global float *partials, BUFFER_ARGUMENTS,
                                                        const __global int *table, const __global int *cache_rows,
                                                        const __global int *positions, const __global float *relative,
                                                        const __global int *ranges, const __global int *hidden,
                                                        struct clf__stages_sizes sizes)
{
    __local int is_over;
    const struct space space = {x, operands, work, vectors, partials, arrived + CLF__ARRIVALS, memory, &is_over};
    const struct tables tables = {table, cache_rows, positions, ranges, hidden, relative};
    const struct grid_barrier grid = {arrived, failed + failed_offset, &is_over, sizes.most_looks};
    uint target = (uint)sizes.arrived;
    int leaves = 0;
    struct clf__stage stage = stages[stage_of(0, &sizes)];
    for (int s = 0; s < sizes.count && !leaves; s++) {
        __global uint4 *buffer = buffer_of(stage.buffer, BUFFER_NAMES) + stage.first;
        if (stage.kind == CLF__STAGE_PRODUCT) {
            multiply_rows(&stage, buffer, &space, &sizes);
        } else if (stage.kind == CLF__STAGE_NORM) {
            norm_rows(&stage, &space, &sizes);
        } else if (stage.kind == CLF__STAGE_ROUND) {
            round_rows(&stage, &space, &sizes);
        } else {
            attend_rows(&stage, buffer, buffer_of(stage.values_buffer, BUFFER_NAMES) + stage.values_first, &tables,
                        &space, &sizes);
        }
        if (s + 1 < sizes.count) { /* the end of the launch acts as the last barrier */
            arrive(&grid);
            int ahead = stage.ahead > 0 ? s + stage.ahead : sizes.count;
            stage = stages[stage_of(s + 1, &sizes)];
            if (ahead < sizes.count) {
                const struct clf__stage product = stages[stage_of(ahead, &sizes)];
                fetch_weights(&product, buffer_of(product.buffer, BUFFER_NAMES) + product.first, sizes.self.rows);
            }
            target += (uint)get_num_groups(0);
            leaves = wait_for_groups(&grid, target, s == sizes.fails_at && get_group_id(0) == 0);
        }
    }
}
