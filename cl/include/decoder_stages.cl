/* The stages of decoder_layers_gpu.cl; included by it, not a program. Each function runs, or prefetches for, a
 * stage of one kind, with all groups of the launch. */

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

static inline struct clf__place place_in(const struct clf__stages_sizes *sizes, int rows)
{
#ifdef MATRIX_NV80
    return sizes->rows[rows];
#else /* AMD's compiler would copy an argument with a variable index to scratch memory */
    int offset = sizes->rows[0].offset, stride = sizes->rows[0].stride;
#pragma unroll
    for (int i = 1; i < CLF__ROWS_COUNT; i++) {
        offset = i == rows ? sizes->rows[i].offset : offset;
        stride = i == rows ? sizes->rows[i].stride : stride;
    }
    return (struct clf__place){offset, stride};
#endif
}

static inline __global float *floats_of(const struct space *space, int rows, const struct clf__stages_sizes *sizes)
{
    int offset = place_in(sizes, rows).offset;
    return rows == CLF__ROWS_X ? space->x + offset : (__global float *)(space->work + offset);
}

static inline __global ushort *operands_of(const struct space *space, int rows, const struct clf__stages_sizes *sizes)
{
    int offset = place_in(sizes, rows).offset;
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
    int stride = place_in(sizes, stage->to).stride;
    for (int row = (int)get_group_id(0); row < sizes->self.rows; row += (int)get_num_groups(0)) {
        quantize_row_gpu((__local float2 *)space->memory,
                         (__global uchar *)(operands_of(space, stage->to, sizes) + (size_t)row * stride), 2 * stride,
                         floats_of(space, stage->from, sizes) + (size_t)row * place_in(sizes, stage->from).stride,
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
        float4 value = load_quad(from + (size_t)row * place_in(sizes, stage->from).stride + column, left, 0.0f);
        store_operand_quad(value, to + (size_t)row * place_in(sizes, stage->to).stride + column, left);
    }
}
#endif

/* Each sub-group of GROUP work-items processes a row; sub-groups without a row still reach the same barriers. */
static inline ALWAYS_INLINE void norm_rows(const struct clf__stage *stage, const struct space *space,
                                           const struct clf__stages_sizes *sizes)
{
    int way = (int)get_local_id(0) / GROUP, groups = (int)get_num_groups(0), rows = sizes->self.rows;
    __local float *shared = (__local float *)space->memory + way * NORM_SHARED;
    int stride = place_in(sizes, stage->to).stride;
    for (int first = (int)get_group_id(0); first < rows; first += groups * WAYS) {
        int own = first + way * groups, row = min(own, rows - 1);
        __global float *x = floats_of(space, CLF__ROWS_X, sizes) + (size_t)row * place_in(sizes, CLF__ROWS_X).stride;
        __global ushort *operands = operands_of(space, stage->to, sizes) + (size_t)row * stride;
        const struct norm_row out = row_of(own < rows && stage->writes_x ? x : 0, own < rows ? operands : 0, stride);
        norm_row_gpu(shared, &out, floats_of(space, stage->from, sizes) + (size_t)row * place_in(sizes, stage->from).stride,
                     vector_of(space, stage->gamma), vector_of(space, stage->beta), stage->inputs, sizes->epsilon);
    }
}

/* How groups share a GEMM: a tile needs as many warps as K has chunks, and a group has several tiles. With one row
 * of tiles, neighbouring tiles go to different groups, so all groups read W. With several rows, a group computes
 * neighbouring tiles, which share panels of W and rows of x in the first-level cache. */
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

/* Returns this warp's tile among those of a group starting at `first`, or the number of tiles if there is none. */
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
        .y_stride = place_in(sizes, stage->to).stride,
        .is_rounded = is_rounded,
        .residual = stage->adds_x ? floats_of(space, CLF__ROWS_X, sizes) : 0,
        .residual_stride = place_in(sizes, CLF__ROWS_X).stride,
        .bias = vector_of(space, stage->beta),
        .x = (const __global uint4 *)operands_of(space, stage->from, sizes),
        .x_pitch = place_in(sizes, stage->from).stride / CLF__WORD_HALVES,
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
