/* Whole decoder layers for one new token per row (Vaswani 2017, 3.1) in one launch. With few rows, launches would
 * cost more than the GEMMs; with many rows, one launch avoids idle cores at the end of each op. The kernel calls the
 * same functions in the same order as the launches of lib/math/layers/layer.c, so the bits are the same.
 *
 * A layer is a list of stages: GEMMs, attentions and norms. GEMMs that read converted rows are preceded by a
 * conversion, and attention over long sources is followed by a join of the parts. A group takes tiles of the
 * stage (a panel of a GEMM, some heads of a row, a row) until none is left, then waits until the tiles of
 * other groups are done. It waits only for tiles that a running group has begun, so any number of groups in
 * any order makes progress, even a single one (the occupancy-bound model of Sorensen et al., OOPSLA 2016).
 *
 * The launch of a step's first layers may include the start of the step: the cache table follows the
 * parents, and the new tokens are embedded.
 *
 * Among the keys that this step adds, a row may read only its own, as in a search: the other keys may not be
 * written yet. In a chain, rows read the keys of earlier rows, so that all keys are stored before attention.
 *
 * CPU variant only. Needs PRECISION and the macros of finish.cl, attention_step.cl and norm_row.cl, NORM_FIRST (1:
 * norm before each sub-layer, 0: after it), OpenCL C 3.0 with device-scope acquire and release, and buffers whose
 * addresses stay constant between launches. */
#ifndef NORM_FIRST
#error "decoder_layer.cl needs NORM_FIRST"
#endif

#define TILES_A_GROUP 4 /* minimum tiles of a GEMM per group: see take_tiles() */

/* Include the functions of these files without their kernels. */
#undef CPU_KERNEL
#define CPU_KERNEL static
#include "attention/attention_step.cl"
#include "include/norm_row.cl"
#include "include/embedding_row.cl"
#include "include/follow_row.cl"

#include "include/panel_rows.cl"

/* CONVERT_ROW: converts a row to an operand of a GEMM, if GEMMs read converted rows. */
#if PRECISION == 3
#define CONVERT_ROW(to, from, inputs) quantize_row_global(to, OPERAND_PITCH(inputs), from, inputs)
#elif PRECISION == 2 && defined(HAS_DOT_BF16)
#include "gemm/round_bf16.cl"
#define OPERAND_PITCH(inputs)         CLF__PACKED_PITCH(inputs, sizeof(ushort), 0)
#define CONVERT_ROW(to, from, inputs) round_row_bf16((__global ushort *)(to), from, inputs)
#endif
#undef CPU_KERNEL
#define CPU_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))

/* The stages in the order of a post-norm layer; with NORM_FIRST the last norm comes first. */
enum {
    QUERY_KEY_VALUE,
    SELF_ATTENTION,
    SELF_OUTPUT,
    SELF_NORM,
    CROSS_QUERY,
    CROSS_ATTENTION,
    CROSS_JOIN,
    CROSS_OUTPUT,
    CROSS_NORM,
    FEED_FORWARD_UP,
    FEED_FORWARD_DOWN,
    FEED_FORWARD_NORM,
    STAGES
};

#include "include/tile_queue.cl"

/* The queues of a launch: the start, and each stage and each conversion of each layer. */
#define START_QUEUE           0
#define STAGE_QUEUE(l, stage) (1 + 2 * STAGES * (l) + (stage))
#define QUEUES(layers)        (1 + 2 * STAGES * (layers))

#include "include/decoder_gemm.cl"

/* The data of one layer: weights and biases, norms, and its caches of earlier tokens and of the encoder's
 * output. A norm follows each of the three sub-layers; with NORM_FIRST it is the norm of the next sub-layer.
 * The host writes it as an array of addresses. */
struct layer {
    struct linear qkv, self_output, query, cross_output, up, down;
    struct norm self_norm, cross_norm, ffn_norm;
    __global cache_element *keys, *values;
    const __global cache_element *memory;
};

/* The work space of all layers: normed (R, D), projected (R, H (2 K + V)), context (R, H V), hidden (R,
 * F). A sub-layer reads `in` and writes its result and x (R, D) to `out`; a norm reads `out` and writes
 * `in`, which the next sub-layer reads with either order of norms. */
struct work_space {
    struct rows x, in, out, projected, context, hidden;
};

/* Lists the GEMMs of a layer; other stages have none. */
static inline void list_gemms(struct gemm *out, const struct layer *layer, const struct work_space *work,
                                 const struct clf__decoder_step_sizes *sizes)
{
    int keys = sizes->self.heads * KEY_WIDTH, values = sizes->self.heads * VALUE_WIDTH, d_model = sizes->d_model;
    const struct rows *x = &work->x;
    const struct gemm gemms[STAGES] = {
        [QUERY_KEY_VALUE] = {work->projected, work->in, layer->qkv, d_model, 2 * keys + values},
        [SELF_OUTPUT] = {work->out, work->context, layer->self_output, values, d_model, 0, x->at, x->stride},
        [CROSS_QUERY] = {work->projected, work->in, layer->query, d_model, keys},
        [CROSS_OUTPUT] = {work->out, work->context, layer->cross_output, values, d_model, 0, x->at, x->stride},
        [FEED_FORWARD_UP] = {work->hidden, work->in, layer->up, d_model, sizes->ffn, 1},
        [FEED_FORWARD_DOWN] = {work->out, work->hidden, layer->down, sizes->ffn, d_model, 0, x->at, x->stride},
    };
    for (int i = 0; i < STAGES; i++) {
        out[i] = gemms[i];
    }
}

/* The start of a step: the cache table of the parents, and the embeddings of the tokens. */
struct start {
    __global int *table;
    const __global int *history, *cache_rows, *parents, *positions, *ids, *added_rows;
    const __global embedding_element *embedding;
    const __global float *added;
};

/* Computes the table row, or the embedding, of a row. */
static inline void start_tile(int tile, const struct start *start, const struct rows *x,
                              const struct clf__decoder_step_sizes *sizes)
{
    const struct clf__step_start_sizes *own = &sizes->start;
    const struct clf__attention_step_sizes *self = &sizes->self;
    int row = tile / 2;
    if (tile % 2) {
        follow_row(start->table + self->table.offset, self->table.stride, start->history + own->history.offset,
                   own->history.stride, self->cache_rows_total, self->positions_total,
                   start->cache_rows[self->cache_rows.offset + row], start->parents[own->parents.offset + row],
                   start->positions[self->positions.offset + row]);
    } else {
        const __global float *added = added_row(start->added, own->added.offset, own->added.stride, own->added_count,
                                                start->added_rows + own->added_rows.offset, row);
        embed_row(x->at + (size_t)row * x->stride, sizes->d_model, start->embedding, own->panel, own->vocabulary,
                  start->ids[own->ids.offset + row], own->scale, added);
    }
}

/* The caches and the masks that the attentions of every layer read, and their work space. */
struct attention_inputs {
    const __global int *table, *cache_rows, *positions, *ranges, *hidden_keys;
    const __global float *relative;
    __global float *partials;
    int self_together, cross_together; /* heads per tile */
};

/* Stores the keys and values of a row, for all heads. */
static inline void store_row(int row, __global cache_element *k, __global cache_element *v, const __global float *own_k,
                             const __global float *own_v, const struct attention_inputs *seen,
                             struct clf__attention_step_sizes sizes)
{
    int cache_row = seen->cache_rows[sizes.cache_rows.offset + row], position = seen->positions[sizes.positions.offset + row];
    size_t own = (size_t)cache_row * sizes.positions_total + position;
    if (count_keys(cache_row, position, sizes.cache_rows_total, sizes.positions_total) > 0) {
        store_cached_row(ROW(sizes, k, own), ROW(sizes, own_k, row), sizes.heads * KEY_WIDTH);
        store_cached_row(ROW(sizes, v, own), ROW(sizes, own_v, row), sizes.heads * VALUE_WIDTH);
    }
}

/* Runs self-attention, cross-attention, or the stage that joins the partial results of cross-attention. */
static inline void run_attention(__global atomic_int *counters, int queue, int stage, struct step_work *work,
                                 const struct layer *layer, const struct work_space *space, const struct attention_inputs *seen,
                                 const struct clf__decoder_step_sizes *sizes)
{
    __global float *context = space->context.at, *projected = space->projected.at;
    if (stage == SELF_ATTENTION) {
        const __global float *own = sizes->is_chain ? 0 : projected; /* null: stored before */
        if (sizes->is_chain) {
            FOR_TILES(counters, queue + STAGES, sizes->self.rows, tile,
                      store_row(tile, layer->keys, layer->values, projected, projected, seen, sizes->self))
        }
        FOR_TILES(counters, queue, sizes->self.rows * count_head_groups(sizes->self.heads, seen->self_together), tile,
                  step_task(work, tile, seen->self_together, context, projected, own, own, layer->keys,
                            layer->values, seen->table, seen->cache_rows, seen->positions, seen->relative, sizes->self))
    } else if (stage == CROSS_ATTENTION) {
        FOR_TILES(counters, queue, count_row_tasks(seen->cross_together, sizes->cross), tile,
                  rows_task(work, tile, seen->cross_together, seen->partials, context, projected, layer->memory,
                            layer->memory, seen->ranges, seen->hidden_keys, 0, 0, sizes->cross))
    } else if (sizes->cross.parts > 1) {
        FOR_TILES(counters, queue, sizes->cross.sequences * sizes->cross.max_queries, tile,
                  join_task(tile, context, seen->partials, seen->ranges, sizes->cross))
    }
}

/* Runs stage `stage` of a layer, whose GEMMs are `gemms`; `operand` is work space for converted inputs. */
static inline __attribute__((always_inline)) void run_stage(__global atomic_int *counters, int queue, int stage,
                                                            struct step_work *work, const struct layer *layer,
                                                            const struct gemm *gemms, const struct work_space *space,
                                                            const struct attention_inputs *seen,
                                                            __global uchar *operand,
                                                            const struct clf__decoder_step_sizes *sizes)
{
    const struct norm norms[] = {
        [SELF_NORM] = layer->self_norm,
        [CROSS_NORM] = layer->cross_norm,
        [FEED_FORWARD_NORM] = layer->ffn_norm,
    };
    struct gemm gemm = gemms[stage];
    if (gemm.linear.weight) {
        run_gemm(counters, queue, &gemm, sizes->self.rows, operand);
    } else if (stage == SELF_ATTENTION || stage == CROSS_ATTENTION || stage == CROSS_JOIN) {
        run_attention(counters, queue, stage, work, layer, space, seen, sizes);
    } else {
        FOR_TILES(counters, queue, sizes->self.rows, tile,
                  norm_row(space->in.at + (size_t)tile * space->in.stride, 0,
                           space->out.at + (size_t)tile * space->out.stride, norms[stage].gamma, norms[stage].beta,
                           sizes->d_model, sizes->epsilon))
    }
}

/* Launched with one group per compute unit. x is input and output; operand (R rows of converted inputs) and
 * partials, which may be null, are work space as well. The arguments starting with history are for the start,
 * which is skipped if ids is null. */
CPU_KERNEL void decoder_layer_step_cpu(__global atomic_int *counters, const __global struct layer *layers,
                                       __global float *x, __global float *normed, __global float *projected,
                                       __global float *context, __global float *hidden, __global uchar *operand,
                                       __global float *partials, __global int *table, const __global int *cache_rows,
                                       const __global int *positions, const __global float *relative,
                                       const __global int *ranges, const __global int *hidden_keys,
                                       const __global int *history, const __global int *parents,
                                       const __global int *ids, const __global embedding_element *embedding,
                                       const __global float *added, const __global int *added_rows,
                                       struct clf__decoder_step_sizes sizes)
{
    struct rows x_rows = {x, sizes.x_stride}, normed_rows = {normed, sizes.normed_stride};
    const struct work_space space = {x_rows,
                                     NORM_FIRST ? normed_rows : x_rows,
                                     NORM_FIRST ? x_rows : normed_rows,
                                     {projected, sizes.projected_stride},
                                     {context, sizes.context_stride},
                                     {hidden, sizes.hidden_stride}};
    const struct attention_inputs seen = {.table = table,
                                          .cache_rows = cache_rows,
                                          .positions = positions,
                                          .ranges = ranges,
                                          .hidden_keys = hidden_keys,
                                          .relative = relative,
                                          .partials = partials,
                                          .self_together = heads_together(sizes.self.rows, sizes.self.heads, 1),
                                          .cross_together = rows_together_of(sizes.cross)};
    struct step_work work;
    if (ids) {
        const struct start start = {table, history, cache_rows, parents, positions, ids, added_rows, embedding, added};
        FOR_TILES(counters, START_QUEUE, 2 * sizes.self.rows, tile, start_tile(tile, &start, &x_rows, &sizes))
    }
    for (int l = 0; l < sizes.layers; l++) {
        struct layer layer = layers[sizes.first_layer + l];
        struct gemm gemms[STAGES];
        list_gemms(gemms, &layer, &space, &sizes);
        for (int step = 0; step < STAGES; step++) {
            int stage = NORM_FIRST ? (step + STAGES - 1) % STAGES : step;
            run_stage(counters, STAGE_QUEUE(l, stage), stage, &work, &layer, gemms, &space, &seen, operand, &sizes);
        }
    }
    leave(counters, QUEUES(sizes.layers));
}
