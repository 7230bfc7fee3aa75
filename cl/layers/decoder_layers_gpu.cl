/* Decoder layers for one new token per row (Vaswani 2017, 3.1) in one launch of resident groups, which
 * process a list of stages (lib/math/layers/stages.h) with a barrier after each, because separate launches would
 * cost more than the stages. The stages call the functions of the kernels that lib/math/layers/layer.c would
 * launch, so the bits are the same.
 *
 * Buffers are arguments, and stages name a buffer and a place in it. Activations are written during the
 * launch, so they are never read through pointers that are restrict or constant.
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

#define GROUP_WARPS   (CLF__STAGE_GROUP / MATRIX_LANES)

/* The buffers of all stages. */
struct space {
    __global float *x;
    __global ushort *operands;
    __global uint4 *work;
    const __global float *vectors;
    __global float *partials;
    __global uint *counters; /* number of stored parts of each row and head */
    __local float4 *memory;
    __local int *answer;
};

static inline __global float *floats_of(const struct space *space, int rows, const struct clf__stages_sizes *sizes)
{
    int offset = sizes->rows[rows].offset;
    return rows == CLF__ROWS_X ? space->x + offset : (__global float *)(space->work + offset);
}

static inline __global ushort *operands_of(const struct space *space, int rows, const struct clf__stages_sizes *sizes)
{
    int offset = sizes->rows[rows].offset;
    return rows == CLF__ROWS_OPERAND ? space->operands + offset : (__global ushort *)(space->work + offset);
}

/* The output of attention. */
#if PRECISION == 3
#define RESULTS_OF floats_of
#else
#define RESULTS_OF operands_of
#endif

static inline const __global float *vector_of(const struct space *space, int place)
{
    return place >= 0 ? space->vectors + place : 0;
}

#if PRECISION == 3
/* A group processes whole rows. */
static inline ALWAYS_INLINE void round_rows(const struct clf__stage *stage, const struct space *space,
                                            const struct clf__stages_sizes *sizes)
{
    int stride = sizes->rows[stage->to].stride;
    for (int row = (int)get_group_id(0); row < sizes->self.rows; row += (int)get_num_groups(0)) {
        quantize_row_gpu((__local float2 *)space->memory,
                         (__global uchar *)(operands_of(space, stage->to, sizes) + (size_t)row * stride), 2 * stride,
                         floats_of(space, stage->from, sizes) + (size_t)row * sizes->rows[stage->from].stride,
                         stage->inputs, (int)get_local_id(0), CLF__STAGE_GROUP);
    }
}
#else
static inline ALWAYS_INLINE void round_rows(const struct clf__stage *stage, const struct space *space,
                                            const struct clf__stages_sizes *sizes)
{
    const __global float *from = floats_of(space, stage->from, sizes);
    __global ushort *to = operands_of(space, stage->to, sizes);
    int quads = (stage->inputs + 3) / 4, total = quads * sizes->self.rows, size = (int)get_global_size(0);
    for (int i = (int)get_global_id(0); i < total; i += size) {
        int row = i / quads, column = i % quads * 4, left = stage->inputs - column;
        float4 value = load_quad(from + (size_t)row * sizes->rows[stage->from].stride + column, left, 0.0f);
        store_operand_quad(value, to + (size_t)row * sizes->rows[stage->to].stride + column, left);
    }
}
#endif

/* Each sub-unit of GROUP work-items processes a row; those without a row still reach the same barriers. */
static inline ALWAYS_INLINE void norm_rows(const struct clf__stage *stage, const struct space *space,
                                           const struct clf__stages_sizes *sizes)
{
    int way = (int)get_local_id(0) / GROUP, groups = (int)get_num_groups(0), rows = sizes->self.rows;
    __local float *shared = (__local float *)space->memory + way * NORM_SHARED;
    int stride = sizes->rows[stage->to].stride;
    for (int first = (int)get_group_id(0); first < rows; first += groups * WAYS) {
        int own = first + way * groups, row = min(own, rows - 1);
        __global float *x = floats_of(space, CLF__ROWS_X, sizes) + (size_t)row * sizes->rows[CLF__ROWS_X].stride;
        __global ushort *operands = operands_of(space, stage->to, sizes) + (size_t)row * stride;
        const struct norm_row out = row_of(own < rows && stage->writes_x ? x : 0, own < rows ? operands : 0, stride);
        norm_row_gpu(shared, &out, floats_of(space, stage->from, sizes) + (size_t)row * sizes->rows[stage->from].stride,
                     vector_of(space, stage->gamma), vector_of(space, stage->beta), stage->inputs, sizes->epsilon);
    }
}

/* How groups share a GEMM: a tile needs as many warps as K has chunks, and a group has several tiles. With
 * one row of tiles neighbouring tiles go to different groups, so that all groups read W. With several rows
 * a group computes neighbouring tiles, which share panels of W and rows of x in the first-level cache. */
struct shares {
    int slices, warps, beside; /* beside: index of this warp's tile in the group */
    int row_tiles, tiles;
    int in_group, between; /* tiles of a group at a time; distance between them */
};

static inline struct shares share_product(const struct clf__stage *stage, int rows)
{
    struct shares shares = {.slices = count_slices(stage->inputs), .warps = 1};
    while (shares.warps < GROUP_WARPS && shares.warps * CHUNK_SLICES < shares.slices) {
        shares.warps *= 2;
    }
    int groups = (int)get_num_groups(0);
    shares.beside = WARP / shares.warps;
    shares.row_tiles = (rows + MATRIX_ROWS - 1) / MATRIX_ROWS;
    shares.tiles = shares.row_tiles * ((stage->outputs + MATRIX_COLUMNS - 1) / MATRIX_COLUMNS);
    shares.in_group = min((shares.tiles + groups - 1) / groups, GROUP_WARPS / shares.warps);
    shares.between = shares.row_tiles > 1 ? 1 : groups;
    return shares;
}

#define FOR_SHARES(first, shares)                                                                                      \
    for (int first = (int)get_group_id(0) * (shares.between > 1 ? 1 : shares.in_group); first < shares.tiles;          \
         first += (int)get_num_groups(0) * shares.in_group)

/* Returns the tile of this warp among those of a group from `first` on, or the number of tiles if there is none. */
static inline int tile_of_warp(int first, const struct shares *shares)
{
    return shares->beside < shares->in_group ? first + shares->beside * shares->between : shares->tiles;
}

/* Prefetches the weights of this warp's chunks, and the scales of its panel, into the second-level cache. */
#define FETCHED_BYTES 128
static inline ALWAYS_INLINE void fetch_weights(const struct clf__stage *stage, const __global uint4 *w, int rows)
{
#ifdef FETCH_AHEAD
    const struct shares shares = share_product(stage, rows);
    FOR_SHARES(first, shares)
    {
        int tile = tile_of_warp(first, &shares);
        const __global uint4 *from = tile_of(w, tile / shares.row_tiles * MATRIX_COLUMNS, shares.slices);
        for (int chunk = WARP % shares.warps; tile < shares.tiles && chunk * CHUNK_SLICES < shares.slices; chunk += shares.warps) {
            int end = min((chunk + 1) * CHUNK_SLICES, shares.slices) * SLICE_WORDS;
            for (int word = chunk * CHUNK_SLICES * SLICE_WORDS + LANE; word < end; word += MATRIX_LANES) {
                FETCH_AHEAD(from + word * PANEL);
            }
        }
        if (PRECISION == 3 && tile < shares.tiles && WARP % shares.warps == 0 && LANE < CLF__INT8_TAIL / FETCHED_BYTES) {
            int panel = tile / shares.row_tiles * MATRIX_COLUMNS / PANEL;
            FETCH_AHEAD((const __global uchar *)(w + (panel + 1) * panel_words(shares.slices)) - CLF__INT8_TAIL +
                        LANE * FETCHED_BYTES);
        }
    }
#endif
}

static inline ALWAYS_INLINE void multiply_rows(const struct clf__stage *stage, const __global uint4 *w,
                                               const struct space *space, const struct clf__stages_sizes *sizes)
{
    const struct shares shares = share_product(stage, sizes->self.rows);
    int is_rounded = PRECISION != 3 && stage->to >= CLF__ROWS_FLOATS;
    const struct matrix_result result = {
        .y = is_rounded ? (__global float *)operands_of(space, stage->to, sizes) : floats_of(space, stage->to, sizes),
        .y_stride = sizes->rows[stage->to].stride,
        .is_rounded = is_rounded,
        .residual = stage->adds_x ? floats_of(space, CLF__ROWS_X, sizes) : 0,
        .residual_stride = sizes->rows[CLF__ROWS_X].stride,
        .bias = vector_of(space, stage->beta),
        .x = (const __global uint4 *)operands_of(space, stage->from, sizes),
        .x_pitch = sizes->rows[stage->from].stride / CLF__WORD_HALVES,
        .w = w,
        .rows = sizes->self.rows,
        .outputs = stage->outputs,
        .slices = shares.slices,
        .activation = stage->activation,
        .scale = 1.0f,
    };
    const struct tile_warps at = {WARP % shares.warps, shares.warps,
                                  (__local matrix_sum *)space->memory + shares.beside * shares.warps * WARP_PARTS};
    FOR_SHARES(first, shares)
    {
        int tile = tile_of_warp(first, &shares), is_there = tile < shares.tiles;
        int column = tile / shares.row_tiles * MATRIX_COLUMNS, row = tile % shares.row_tiles * MATRIX_ROWS;
        matrix_sum totals[1][MATRIX_SUMS];
        multiply_tile(totals[0], &result, row, is_there ? tile_of(w, column, shares.slices) : 0, &at);
        if (is_there && at.warp == 0) {
            finish_tiles(totals, row, column, &result);
        }
    }
}

/* The tables of the step. */
struct tables {
    const __global int *table, *cache_rows, *positions, *ranges, *hidden;
    const __global float *relative;
};

static inline ALWAYS_INLINE void attend_rows(const struct clf__stage *stage, __global uint4 *keys, __global uint4 *values,
                                             const struct tables *tables, const struct space *space,
                                             const struct clf__stages_sizes *sizes)
{
    int is_self = stage->kind == CLF__STAGE_SELF_ATTENTION, groups = (int)get_num_groups(0);
    int tasks = is_self ? sizes->self.parts * sizes->self.rows * sizes->self.heads
                        : sizes->cross.parts * sizes->cross.sequences * sizes->cross.max_queries * sizes->cross.heads;
    __global float *projected = floats_of(space, stage->from, sizes);
    __global result_element *y = RESULTS_OF(space, stage->to, sizes);
    __global cache_element *k = (__global cache_element *)keys, *v = (__global cache_element *)values;
    for (int task = (int)get_group_id(0); task < tasks; task += groups) {
        struct step step;
        if (is_self) {
            begin_step(&step, task, space->partials, y, projected, projected, projected, k, v, tables->table, tables->cache_rows,
                       tables->positions, tables->relative, sizes->self);
        } else {
            begin_rows(&step, task, space->partials, y, projected, k, v, tables->ranges, tables->hidden, 0, 0, sizes->cross);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        int parts = step.y ? attend(&step, space->memory) : 0;
        if (is_last_group(space->counters + step.index, (uint)parts, space->answer)) {
            join_parts(&step);
        }
    }
}

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

/* Groups: as many as are resident at once. arrived: the counter of the barriers; the counters of parts
 * follow after CLF__ARRIVALS, all zero. memory: enough for attention, a norm and a GEMM. */
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
