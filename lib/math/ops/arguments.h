/* Argument structures of kernels with many arguments, included by C and by OpenCL. Members are int and
 * float, which have the same layout in both. */
#ifndef CLF_OPS_ARGUMENTS_H
#define CLF_OPS_ARGUMENTS_H

/* The position of a tensor in its buffer, in elements. */
struct clf__place {
    int offset, stride;
};

#ifdef __OPENCL_C_VERSION__
/* The address of a row of a buffer; the member of `sizes` with the name of the buffer is its struct
 * clf__place. */
#define ROW(sizes, buffer, row) ((buffer) + (sizes).buffer.offset + (size_t)(row) * (sizes).buffer.stride)
#endif

/* The arguments of cl/attention/attention.cl and of attention_rows in attention_step.cl. Only
 * attention_rows uses partials and parts. */
struct clf__attention_sizes {
    struct clf__place y, q, k, v, ranges, hidden, additive, relative, partials;
    int reach, sequences, heads, max_queries;
    int parts; /* maximum number of parts into which the keys of a sequence are split; 1: not split */
    float scale;
    int causal, block_queries;
};

/* For cl/attention/attention_local.cl. */
struct clf__attention_local_sizes {
    struct clf__place y, q, k, v, global_k, global_v, ranges, relative, globals, global_relative;
    int reach, global_reach, sequences, heads, max_queries;
    int radius, block_size, block_queries;
    float scale;
};

/* In the CPU variant of attention, the state is on a thread's stack, so wide heads get smaller tiles. For
 * cl/attention/attention.cl: keys between two updates of the running maximum, a multiple of 64, and
 * queries per work-item. */
#define CLF__WIDE_HEADS(key_width, value_width)        ((key_width) + (value_width) > 1024)
#define CLF__ATTENTION_KEYS(key_width, value_width)    (CLF__WIDE_HEADS(key_width, value_width) ? 128 : 256)
#define CLF__ATTENTION_QUERIES(key_width, value_width) (CLF__WIDE_HEADS(key_width, value_width) ? 256 : 512)

/* For cl/attention/attention_step.cl: the number of queries of a sequence, and of queries times heads,
 * that the CPU variant computes together; the keys of a part; and the floats of a part's partial result
 * for one query and head. */
#define CLF__STEP_QUERIES(key_width, value_width) (CLF__WIDE_HEADS(key_width, value_width) ? 1 : 8)
#define CLF__STEP_STATES(key_width, value_width)  (CLF__WIDE_HEADS(key_width, value_width) ? 1 : 16)
#define CLF__PART_KEYS                            256
#define CLF__PARTIAL_WIDTH(value_width)           (((value_width) + 15) / 16 * 16 + 16)

/* For the GPU variant of attention_step.cl: tiles of 64 keys per part; floats between the scores of two
 * lanes that share a key; and the local memory in units of four floats: a query, and for each of `ways`
 * sub-groups of 64 work-items the exchange memory of the lanes and the scores, weights and rows of a tile. */
#define CLF__PART_TILES                (CLF__PART_KEYS / 64)
#define CLF__STEP_PITCH                68
#define CLF__STEP_COLUMNS(value_width) (((value_width) + 511) / 512)
#define CLF__STEP_LANE_QUADS(value_width)                                                                    \
    (CLF__STEP_COLUMNS(value_width) > 1 ? CLF__STEP_COLUMNS(value_width) * 128 : 2 * CLF__STEP_PITCH)
#define CLF__STEP_WAY_QUADS(value_width) (CLF__STEP_LANE_QUADS(value_width) + 48)
#define CLF__STEP_LOCAL_QUADS(key_width, value_width, ways)                                                  \
    (((key_width) + 7) / 8 * 2 + (ways)*CLF__STEP_WAY_QUADS(value_width))

/* For the GPU variant of cl/attention/attention.cl: queries per group (one per four work-items), keys per
 * tile, and columns or rows per chunk. Then the floats of a padded chunk of queries and keys, and of all
 * local memory, which also holds a tile of weights and five numbers per query. */
#define CLF__BLOCK_QUERIES 32
#define CLF__BLOCK_KEYS    64
#define CLF__BLOCK_DEPTH   16
#define CLF__BLOCK_STAGE   (CLF__BLOCK_DEPTH * (CLF__BLOCK_KEYS + 4 + CLF__BLOCK_QUERIES + 4))
#define CLF__BLOCK_LOCAL_FLOATS                                                                              \
    (CLF__BLOCK_STAGE + CLF__BLOCK_KEYS * CLF__BLOCK_QUERIES + 5 * CLF__BLOCK_QUERIES)

struct clf__attention_step_sizes {
    struct clf__place y, q, own_k, own_v, k, v, table, cache_rows, positions, relative, partials;
    int positions_total, cache_rows_total, reach, rows, heads;
    int parts; /* maximum number of parts of the keys, in the GPU variant */
    float scale;
};

/* The arguments of cl/layers/decoder_layer.cl for the start of a step. */
struct clf__step_start_sizes {
    struct clf__place history, parents, ids, added, added_rows;
    int panel, vocabulary, added_count;
    float scale;
};
struct clf__decoder_step_sizes {
    struct clf__attention_step_sizes self;
    struct clf__attention_sizes cross;
    struct clf__step_start_sizes start;
    int x_stride, normed_stride, projected_stride, context_stride, hidden_stride;
    int first_layer, layers, d_model, ffn;
    int is_chain; /* 1: rows see the keys of the rows before them, which are stored first */
    float epsilon;
};

/* The arguments of cl/layers/linear_pair.cl: x (R, inputs), sums (R, middle), y (R, outputs). Strides of
 * operands, and of x in the operand type, count 16 bits. */
struct clf__linear_pair_sizes {
    struct clf__place x, residual, sums, normed, operands, y;
    int rows, inputs, middle, outputs;
    int converts;                     /* x is in fp32 and must be converted to the operand type */
    int x_pitch;                      /* bytes between the converted rows of x */
    int is_rounded;                   /* y has the operand type */
    int activation;                   /* enum clf__activation */
    int failed, most_looks, fails_at; /* offset of the flag; see cl/include/grid_barrier.cl; fails_at: for
                                       * tests, the task that does not wait for others; -1: none */
    float epsilon;
};
/* Counters of linear_pair.cl, a cache line apart: tasks taken, groups finished, then for each of four stages
 * and tile of rows the tasks done. Tiles have at least CLF__PAIR_TILE rows. */
#define CLF__PAIR_ROWS  64
#define CLF__SPLIT_ROWS 16 /* with a norm in every group of the second layer */
#define CLF__PAIR_TILE  8
#define CLF__PAIR_LINE  16
#define CLF__PAIR_COUNTER(stage, tile)                                                                       \
    (CLF__PAIR_LINE * (2 + (stage) * (CLF__PAIR_ROWS / CLF__PAIR_TILE) + (tile)))
#define CLF__PAIR_COUNTERS CLF__PAIR_COUNTER(4, 0)

/* The arguments of cl/device/probe_barrier.cl: words of `blocks` blocks of CLF__BARRIER_ROWS rows of
 * CLF__BARRIER_COLUMNS columns, in tasks of CLF__BARRIER_TILE columns of a block. */
struct clf__barrier_sizes {
    int blocks, seed, most_looks;
    int fails_at, spoiled_task; /* for tests: the task that does not wait, and the task that writes wrong
                                   words; -1: none */
};
#define CLF__BARRIER_ROWS    4
#define CLF__BARRIER_COLUMNS 256
#define CLF__BARRIER_TILE    32
/* Counters, a cache line apart: tasks taken, tasks done, whether a group stopped waiting, wrong words. */
#define CLF__BARRIER_TAKEN    0
#define CLF__BARRIER_ARRIVED  16
#define CLF__BARRIER_FAILED   32
#define CLF__BARRIER_WRONG    48
#define CLF__BARRIER_COUNTERS 64

/* The arguments of cl/layers/projection.cl. */
struct clf__projection_sizes {
    struct clf__place partials, ids, x, banned, banned_offsets, labels, picked, counter, best, best_ids,
        statistics;
    int rows, rows_per_group, inputs, outputs;
    float scale;
    int banned_count, k, both;
};

#endif
