/* Attention of one query and head, GPU variant: the second half of attention_step.cl, also used by
 * decoder_layers_gpu.cl. Include file, not a program; include it after attention_few.cl. attention_step_tile.cl
 * computes a tile of keys, attention_sums_gpu.cl holds and joins the sums.
 *
 * The keys of a query are split into parts of PART_KEYS, and a part into tiles of 64. Each tile has a maximum, a
 * total of weights and weighted sums; tiles are joined in order, and then parts in order. The split depends only on
 * key positions, so the bits are the same for one or several groups per query, and for 1, 2 or 4 (WAYS) sub-groups of
 * GROUP work-items that compute different tiles.
 *
 * IS_ALIGNED: the offsets and widths of the heads of keys and values are multiples of eight elements. */

#ifndef WAYS
#define WAYS 1
#endif
#define ITEMS      (WAYS * GROUP)
#define PART_TILES CLF__PART_TILES

/* KEY_LANES lanes of a sub-group share the columns of a key, and VALUE_LANES lanes share those of a value; a lane
 * processes eight columns at a time. Consecutive keys of a lane are KEYS_APART keys apart, and consecutive values
 * VALUES_APART. COLUMNS: groups of eight sums per lane. */
#define KEY_OCTETS   ((KEY_WIDTH + 7) / 8)
#define VALUE_OCTETS ((VALUE_WIDTH + 7) / 8)
#define KEY_LANES    (KEY_OCTETS > 4 ? 8 : 4)
#define VALUE_LANES  (VALUE_OCTETS > 32 ? 64 : VALUE_OCTETS > 16 ? 32 : VALUE_OCTETS > 8 ? 16 : VALUE_OCTETS > 4 ? 8 : 4)
#define KEYS_APART   (GROUP / KEY_LANES)
#define VALUES_APART (GROUP / VALUE_LANES)
#define COLUMNS      CLF__STEP_COLUMNS(VALUE_WIDTH)
#define PITCH        CLF__STEP_PITCH /* stride of the partial scores of the lanes: the parts of one key are
                                      * in different banks */

/* A lane reads BATCH rows at a time as long as the tile has that many, AHEAD rows before their first use. If
 * registers allow, it reads EARLY_VALUES values before the weights are known. With larger numbers Intel's compiler
 * spills registers. */
#if defined(MATRIX_NV80) && defined(HALF_CACHE)
#define BATCH        4
#define AHEAD        8
#define EARLY_VALUES 8
#elif defined(cl_intel_subgroups) && !(defined(HALF_CACHE) && defined(IS_ALIGNED))
#define BATCH        2
#define AHEAD        2
#define EARLY_VALUES 0
#else
#define BATCH        4
#define AHEAD        4
#define EARLY_VALUES 0
#endif

#define KEYS_AHEAD   (KEY_LANES < AHEAD ? KEY_LANES : AHEAD)
#define VALUES_AHEAD (VALUE_LANES < AHEAD ? VALUE_LANES : AHEAD)

#define ALWAYS_INLINE __attribute__((always_inline))

/* The keys and values that a query and head see: key t = 0 .. keys - 1 is row first_row + t, or with `lookup` row
 * lookup[t] * positions_total + t. Null masks add nothing to the scores. */
struct attended {
    const __global cache_element *k, *v;
    int key_stride, value_stride, keys, first_row, positions_total;
    const __global int *lookup, *hidden;
    const __global float *additive, *relative;
    int reach, query;
};

/* One task: a query and head. y null: nothing to do. With parts > 1 the task computes one part of the keys
 * and stores its sums in `partials`, which holds all parts of the query and head. */
struct step {
    __global result_element *y;
    const __global float *q;
    float scale;
    struct attended seen;
    __global float *partials;
    int parts, part;
    int index; /* index of the query and head in the batch */
};

/* A sub-group's place in the group, and its local memory. */
struct place {
    int item, lane, way;
    __local float *query, *lanes, *scores, *weights;
    __local int *rows; /* row indices of the tile's keys and values */
};

#include "include/attention_sums_gpu.cl"
#include "include/attention_step_tile.cl"

/* Sums one part of the keys. */
static inline ALWAYS_INLINE void sum_keys(struct part_sums *out, const struct place *at, const struct step *step, int part,
                                          int is_first)
{
    const __local float *lanes = at->lanes - at->way * 4 * CLF__STEP_WAY_QUADS(VALUE_WIDTH);
    int first = part * PART_KEYS, end = min(first + PART_KEYS, step->seen.keys);
    /* With as many ways as tiles, the loop makes one pass for any number of keys, because PoCL 3.1 miscompiles a
     * condition there. */
    int tiles = WAYS == PART_TILES ? PART_TILES : (end - first + TILE - 1) / TILE;
    begin_sums(out);
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile += WAYS) {
        int own = first + (tile + at->way) * TILE;
        weigh_keys(at, step, (struct tile){own, clamp(end - own, 0, TILE)}, is_first && tile == 0);
#pragma unroll 1
        for (int way = 0; way < WAYS && first + (tile + way) * TILE < end; way++) {
            struct part_sums sums;
            gather_sums(&sums, at->item, lanes + way * 4 * CLF__STEP_WAY_QUADS(VALUE_WIDTH));
            join_sums(out, &sums);
        }
    }
}

static inline int parts_of(const struct step *step)
{
    return max((step->seen.keys + PART_KEYS - 1) / PART_KEYS, 1);
}

static inline size_t partial_place(int index, int parts)
{
    return (size_t)index * parts * PARTIAL;
}

/* Stores the result of a query and head, or the sums of the task's part. Returns the number of parts to join; 0 if there is
 * one, or if the task's part has no keys. */
static inline ALWAYS_INLINE int attend(const struct step *step, __local float4 *memory)
{
    int item = (int)get_local_id(0), way = item / GROUP, parts = parts_of(step), is_split = step->parts > 1 && parts > 1;
    __local float *own = (__local float *)(memory + 2 * KEY_OCTETS + way * CLF__STEP_WAY_QUADS(VALUE_WIDTH));
    __local float *after = own + 4 * CLF__STEP_LANE_QUADS(VALUE_WIDTH);
    const struct place at = {item, item % GROUP, way, (__local float *)memory, own, after, after + TILE,
                             (__local int *)after + 2 * TILE};
    if (step->part >= parts) {
        return 0;
    }
    struct part_sums all, sums;
    begin_sums(&all);
    int end = is_split ? step->part + 1 : parts;
#pragma unroll 1
    for (int part = step->part; part < end; part++) {
        sum_keys(&sums, &at, step, part, part == step->part);
        if (is_split) {
            store_sums(step->partials + part * PARTIAL, &sums);
        } else {
            join_sums(&all, &sums);
        }
    }
    if (!is_split) {
        store_output(step->y, &all);
    }
    return is_split ? parts : 0;
}

/* Stores the result of a query and head from the sums of the parts, if there is more than one part; reads several
 * parts at a time. */
static inline ALWAYS_INLINE void join_parts(const struct step *step)
{
    enum { TOGETHER = 8 };
    int parts = parts_of(step);
    if (parts == 1) {
        return;
    }
    struct part_sums all, sums[TOGETHER];
    begin_sums(&all);
#pragma unroll 1
    for (int part = 0; part < parts; part += TOGETHER) {
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            load_sums(&sums[i], step->partials + min(part + i, parts - 1) * PARTIAL);
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            if (part + i < parts) {
                join_sums(&all, &sums[i]);
            }
        }
    }
    store_output(step->y, &all);
}

/* Begins task `task` of attention_step: stores the key and value in the cache; a barrier on global memory is
 * needed before attend(). The first parts of all rows and heads precede the second parts. */
static inline ALWAYS_INLINE void begin_step(struct step *out, int task, __global float *partials, STEP_ARGUMENTS)
{
    int item = (int)get_local_id(0), index = task % (sizes.rows * sizes.heads), row = index / sizes.heads;
    int head = index % sizes.heads, part = task / (sizes.rows * sizes.heads);
    int cache_row = cache_rows[sizes.cache_rows.offset + row], position = positions[sizes.positions.offset + row];
    int keys = count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total);
    size_t own = (size_t)cache_row * sizes.positions_total + position;
    int stores = keys > 0 && own_k && (sizes.parts == 1 || part == position / PART_KEYS);
    for (int d = item; stores && d < KEY_WIDTH; d += ITEMS) {
        STORE_CACHED(ROW(sizes, own_k, row)[head * KEY_WIDTH + d], ROW(sizes, k, own), head * KEY_WIDTH + d);
    }
    for (int d = item; stores && d < VALUE_WIDTH; d += ITEMS) {
        STORE_CACHED(ROW(sizes, own_v, row)[head * VALUE_WIDTH + d], ROW(sizes, v, own), head * VALUE_WIDTH + d);
    }
    *out = (struct step){
        .y = ROW(sizes, y, row) + head * VALUE_WIDTH,
        .q = ROW(sizes, q, row) + head * KEY_WIDTH,
        .scale = sizes.scale,
        .partials = partials + sizes.partials.offset + partial_place(index, sizes.parts),
        .parts = sizes.parts,
        .part = part,
        .index = index,
        .seen = {.k = ROW(sizes, k, 0) + head * KEY_WIDTH,
                 .v = ROW(sizes, v, 0) + head * VALUE_WIDTH,
                 .key_stride = sizes.k.stride,
                 .value_stride = sizes.v.stride,
                 .keys = keys,
                 .positions_total = sizes.positions_total,
                 .lookup = ROW(sizes, table, cache_row),
                 .relative = relative ? ROW(sizes, relative, head) : 0,
                 .reach = sizes.reach,
                 .query = position},
    };
}

/* Begins task `task` of attention_rows; tasks are in the same order. */
static inline ALWAYS_INLINE void begin_rows(struct step *out, int task, __global float *partials,
                                            ATTENTION_ARGUMENTS_OF(cache_element))
{
    int rows = sizes.sequences * sizes.max_queries, part = task / (rows * sizes.heads), head = task % sizes.heads;
    int row = task / sizes.heads % rows, index = row % sizes.max_queries;
    const __global int *range = ranges + sizes.ranges.offset + row / sizes.max_queries * 4;
    int query_row = range[0] + index;
    *out = (struct step){
        .y = index < range[1] ? ROW(sizes, y, query_row) + head * VALUE_WIDTH : 0,
        .q = ROW(sizes, q, query_row) + head * KEY_WIDTH,
        .scale = sizes.scale,
        .partials = partials + sizes.partials.offset + partial_place(query_row * sizes.heads + head, sizes.parts),
        .parts = sizes.parts,
        .part = part,
        .index = query_row * sizes.heads + head,
        .seen = {.k = ROW(sizes, k, 0) + head * KEY_WIDTH,
                 .v = ROW(sizes, v, 0) + head * VALUE_WIDTH,
                 .key_stride = sizes.k.stride,
                 .value_stride = sizes.v.stride,
                 .keys = sizes.causal ? min(index + range[3] - range[1] + 1, range[3]) : range[3],
                 .first_row = range[2],
                 .hidden = hidden ? hidden + sizes.hidden.offset + range[2] : 0,
                 .additive = additive ? ROW(sizes, additive, row) : 0,
                 .relative = relative ? ROW(sizes, relative, head) : 0,
                 .reach = sizes.reach,
                 .query = index},
    };
}
