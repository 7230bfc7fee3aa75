/* Scaled dot-product attention over ragged batches (Vaswani 2017, 3.2). */
#ifndef CLF_OPS_ATTENTION_H
#define CLF_OPS_ATTENTION_H

#include "math/ops/dropout.h"
#include "math/ops/mask.h"
#include "math/tensor/tensor.h"
#include "runtime/program/launch.h"

/* Heads are adjacent: head h of a query or key starts at column h * key_width of its row. */
struct clf__heads {
    int count;       /* H */
    int key_width;   /* K */
    int value_width; /* width of a value and of the output */
    float scale;     /* scale of the scores: 1 / sqrt(K), or 1 */
};

/* Scratch memory of the batched variant: padded heads and scores of the N sequences that it computes at a
 * time. The fused variant uses only `memory` (other buffers NULL). */
struct clf__attention_scratch {
    struct clf__tensor queries; /* (N * H * max_queries, K) */
    struct clf__tensor keys;    /* (N * H * max_keys, K) */
    struct clf__tensor values;  /* (N * H * max_keys, value_width) */
    struct clf__tensor scores;  /* (N * H * max_queries, max_keys) */
    struct clf__tensor outputs; /* (N * H * max_queries, value_width) */
    struct clf__tensor memory;  /* (key rows, H (K + d_v)): keys and values converted from halves, for
                                 * calls that read floats; reserved by the caller */
    struct clf__tensor blocks;  /* (G, D): sums of blocks */
    struct clf__tensor block_projection; /* (G, H (2 K + d_v)); the caller reserves this and `blocks` */
};

/* Reserves the scratch memory of the batched variant for batches of at most these sizes: for all
 * sequences, or for as many (at least one) as keep the scores within 64 MiB. */
clf_status clf__attention_scratch_reserve(struct clf__attention_scratch *scratch, struct clf__arena *arena,
                                          int sequences, const struct clf__heads *heads, int max_queries,
                                          int max_keys);

/* The transient global tokens of a batch (Guo et al. 2022, 3.2.2): keys and values of blocks of a sequence's
 * rows, which all queries of the sequence see. */
struct clf__global_tokens {
    struct clf__tensor keys;     /* (G, H * K) */
    struct clf__tensor values;   /* (G, H * value_width) */
    struct clf__tensor table;    /* (B, 2) i32: the first global token of each sequence, and the number of
                                  * its global tokens */
    struct clf__tensor relative; /* (H, 2 R + 1): the bias [h][clamp(g - block(i), -R, R) + R], with block(i)
                                  * = min(i / block_size, number - 1); buffer NULL: none */
    int block_size;
    int most; /* maximum number of global tokens per sequence */
};

/* The rows of each global token: row i of a sequence belongs to block(i). */
struct clf__global_blocks {
    struct clf__tensor segments; /* (G, 2) i32: the first row of each block, and the row after the last one */
    struct clf__tensor table, relative; /* as in struct clf__global_tokens */
    int block_size;
    int most; /* maximum number of global tokens per sequence */
};

/* Attention within a window: query i sees the keys of its sequence at most `radius` rows from i, and the
 * sequence's global tokens. */
struct clf__attention_window {
    int radius;
    const struct clf__global_tokens *globals; /* NULL: none */
};

/* The arguments of an attention except the operands. */
struct clf__attention_call {
    struct clf__heads heads;
    struct clf__sequence_ranges ranges;
    struct clf__mask mask;
    struct clf__attention_scratch *scratch; /* needed by the batched variant, by maps and for halves */
    struct clf__tensor maps;    /* (B * H * max_queries, max_keys), packed: receives the probabilities, padded
                                 * with 0, and selects the batched variant; buffer NULL: not requested */
    struct clf__tensor weights; /* receives the result of clf__attention_weights_forward() for the first
                                 * weight_heads heads; buffer NULL: not requested */
    int weight_heads;
    struct clf__tensor partials; /* (1, clf__attention_partials()) floats of scratch that let several
                                  * groups share the keys of a query without changing the result: for
                                  * decoder layers in one launch, and for few queries in the GPU variant;
                                  * buffer NULL or too small: one group per query */
    struct clf__dropout dropout; /* dropout of the probabilities in training, only in the fused variant.
                                  * The mask element of a weight is (query row * H + head, position of the
                                  * key in its sequence) */
    int few_queries; /* set by decoding steps, whose sequences have few queries: keys are not packed, and a
                      * group of the GPU variant computes one query. max_queries cannot decide this, because
                      * the results of a sequence must be bit-identical in every batch */
    const struct clf__global_blocks *blocks;    /* blocks of the global tokens; NULL: none */
    const struct clf__attention_window *window; /* for clf__attention_local_forward(); else NULL */
    enum clf__precision precision; /* precision of the layer's weights. Except for fp32, devices with matrix
                                    * instructions use them for blocks of queries: q, k, v and probabilities
                                    * are then rounded to bf16 (weights in bf16) or fp16 (otherwise) */
};

/* Returns the number of parts into which this many keys are split. */
int clf__attention_parts(int keys);
/* Returns the number of floats for the sums of all parts of this many query rows; 0 if there is only one
 * part. */
int64_t clf__attention_partials(const struct clf__heads *heads, int rows, int max_keys);
/* Returns the maximum number of rows for which groups of the GPU variant share the keys of a query; more rows
 * have enough groups to occupy the device. */
int clf__attention_split_rows(const struct clf_device *device, const struct clf__heads *heads);
/* Returns the number of parts into which groups of the GPU variant split the keys in a launch; 1: one group
 * per query. */
int clf__attention_split(const struct clf_device *device, const struct clf__heads *heads, int rows,
                         int max_keys, struct clf__tensor partials);

/* The memory that the kernels use for one head, and its limit. */
struct clf__attention_room {
    size_t bytes, limit;
    const char *place; /* "a thread's stack", "local memory" */
};
/* Returns the memory that the kernels use per head. In the CPU variant it is on the stack of a driver
 * thread, whose overflow is not checked; in the GPU variant it is local memory. is_trained: includes the
 * gradients. */
struct clf__attention_room clf__attention_room(const struct clf_device *device,
                                               const struct clf__heads *heads, int is_trained);

/* Computes y = softmax(scale * q kᵀ + mask) v for each sequence b of ranges and each head h. q, k and v
 * may be column views of one fused projection. A query that sees no key gets zeros. The device's
 * capabilities select the variant: fused (one pass, no score matrix) or batched (GEMMs around a masked
 * softmax, needs scratch).
 *
 * With the fused variant, the results of a sequence are bit-identical in every batch. */
clf_status clf__attention_forward(struct clf__tensor y, /* (query rows, H * value_width) */
                                  struct clf__tensor q, /* (query rows, H * K) */
                                  struct clf__tensor k, /* (key rows, H * K) */
                                  struct clf__tensor v, /* (key rows, H * value_width) */
                                  const struct clf__attention_call *call);

/* Returns whether clf__attention_step_forward() can write y in this type: bf16 and f16 in the GPU
 * variant. */
int clf__attention_step_writes(enum clf__type type, const struct clf_device *device);

/* Returns the macro of cl/include/result.cl for the type of y. */
const char *clf__result_define(struct clf__tensor y);

/* Returns whether q, k and v may have this type, CLF__BF16 or CLF__F16: the type to which matrix
 * instructions round them for this call. Every head must be 16-byte aligned. */
int clf__attention_reads(enum clf__type type, const struct clf_device *device,
                         const struct clf__attention_call *call);

/* Returns whether keys and values may be halves (math/ops/cache.h), for few queries of the fused variant. */
int clf__attention_reads_halves(const struct clf_device *device, const struct clf__attention_call *call);

/* Computes the mean over the first `heads` heads of each query's probabilities. Hidden keys, columns
 * beyond the keys of a sequence, and queries without visible keys get zeros; keys beyond the columns of y
 * are ignored. The only supported mask is hidden keys. The results of a sequence are bit-identical in
 * every batch. */
clf_status clf__attention_weights_forward(struct clf__tensor y,                       /* (query rows, keys) */
                                          struct clf__tensor q, struct clf__tensor k, /* may be halves */
                                          int heads, const struct clf__attention_call *call);

/* Runs the batched variant, which stores the whole score matrix and can therefore return the maps. Requires
 * at least one sequence and one query. */
clf_status clf__attention_batched_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                          struct clf__tensor v, const struct clf__attention_call *call);

/* Returns whether clf__attention_forward() can write y in this type, for a GEMM that reads it: bf16 in the
 * CPU variant's fused kernel, bf16 and f16 in the GPU variant's kernels. */
int clf__attention_writes(enum clf__type type, const struct clf_device *device,
                          const struct clf__attention_call *call);

/* The outputs of clf__attention_backward(). */
struct clf__attention_gradients {
    struct clf__tensor query;    /* (query rows, H * K); query, key and value are overwritten and may be
                                  * column views */
    struct clf__tensor key;      /* (key rows, H * K) */
    struct clf__tensor value;    /* (key rows, H * value_width) */
    struct clf__tensor relative; /* (H, 2 R + 1), accumulated; buffer NULL: not computed */
    struct clf__tensor scratch;  /* (1, n) floats */
};
/* Returns the number of floats of scratch for a batch of these sizes; relative_width: 2 R + 1, or 0. */
size_t clf__attention_backward_scratch(const struct clf__heads *heads, int query_rows, int sequences,
                                       int relative_width);

/* Computes the gradients of clf__attention_forward(), always with fused kernels: recomputes the
 * probabilities, with the same dropout mask. A query that sees no key contributes nothing. */
clf_status clf__attention_backward(const struct clf__attention_gradients *gradients,
                                   struct clf__tensor dy, /* (query rows, H * value_width) */
                                   struct clf__tensor q, struct clf__tensor k, struct clf__tensor v,
                                   struct clf__tensor y, /* the result of the forward pass */
                                   const struct clf__attention_call *call);

/* The cached keys and values of a decoding step (see math/ops/cache.h). */
struct clf__attention_history {
    struct clf__tensor keys;       /* (cache_rows_total * positions_total, H * K) */
    struct clf__tensor values;     /* (cache_rows_total * positions_total, H * value_width) */
    struct clf__tensor table;      /* (cache rows, positions) i32 */
    struct clf__tensor cache_rows; /* (1, R) i32: the cache row of each query row */
    struct clf__tensor positions;  /* (1, R) i32: keys 0 .. positions[r] are visible */
    struct clf__tensor relative;   /* (H, 2 R + 1) as in clf__mask; buffer NULL: none */
    int cache_rows_total;
    double pairs;                /* pairs of a row and a visible key, for the profile; 0: not counted */
    int most_keys;               /* maximum number of visible keys per row; 0: unknown */
    struct clf__tensor partials; /* as in clf__attention_call */
};
/* Returns most_keys, or the positions of the history if most_keys is unknown. */
int clf__attention_most_keys(const struct clf__attention_history *history);

/* Returns the kernel's arguments for a history and this number of query rows; the kernel may split the
 * keys into parts. The caller fills in the places of the row tensors. */
struct clf__attention_step_sizes clf__attention_step_sizes(const struct clf__heads *heads,
                                                           const struct clf__attention_history *history,
                                                           int rows);

/* The work-groups of a kernel in the GPU variant: work-items, local memory and macros, none of which
 * changes the result. */
struct clf__attention_group {
    size_t items, local_bytes;
    char defines[32];
    int ways, is_aligned; /* tiles of keys computed in parallel; heads start at multiples of eight elements */
};
/* Halves the number of parallel tiles per group of cl/attention/attention_step.cl; returns 0 if it is at most
 * one. */
int clf__attention_group_halve(struct clf__attention_group *group, const struct clf__heads *heads);
struct clf__attention_group clf__attention_step_group(const struct clf_device *device,
                                                      const struct clf__heads *heads, struct clf__tensor k,
                                                      struct clf__tensor v, size_t tasks, int keys);

/* Returns the queries per group of attention.cl and attention_local.cl: fixed in the GPU variant; many in
 * the CPU variant, because they share packed keys, but fewer if there would be too few groups for the
 * cores. The number does not change the result. */
int clf__attention_block_queries(const struct clf__attention_call *call, const struct clf__caps *caps);
struct clf__attention_group clf__attention_block_group(const struct clf__caps *caps,
                                                       const struct clf__heads *heads, struct clf__tensor q,
                                                       struct clf__tensor k, struct clf__tensor v);
/* Counts the tasks: blocks of queries of all heads and sequences, times slices of value columns. Returns
 * CLF_UNSUPPORTED if the count exceeds an int. */
clf_status clf__attention_count_tasks(size_t *tasks, const struct clf__attention_call *call, int block,
                                      size_t slices);

/* Returns the cost of one pass over this many query rows, key rows, and pairs of a query and a key. */
struct clf__cost clf__attention_cost(const struct clf__heads *heads, double queries, double keys,
                                     enum clf__type key_type, double pairs);

/* Returns the cost of joining the parts of this many query rows. */
struct clf__cost clf__attention_join_cost(const struct clf__heads *heads, int rows, int parts);

/* Stores the key and value of row r in its history, as row cache_rows[r] * positions_total + positions[r];
 * then computes attention over the whole history: key t is keys[table[cache_rows[r]][t] * positions_total +
 * t]. A row may read its own new key, but not the new keys of other rows. If k and v have no buffers, the
 * history already contains them, and rows may read the keys of other rows. A row with a cache row or
 * position outside the history stores nothing and gets zeros. */
clf_status clf__attention_step_forward(struct clf__tensor y, /* (R, H * value_width) */
                                       struct clf__tensor q, /* (R, H * K) */
                                       struct clf__tensor k, /* (R, H * K) */
                                       struct clf__tensor v, /* (R, H * value_width) */
                                       const struct clf__heads *heads,
                                       const struct clf__attention_history *history);

#endif
