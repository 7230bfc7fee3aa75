/* Scaled dot-product attention over ragged batches (Vaswani 2017, 3.2). */
#ifndef CLF_OPS_ATTENTION_H
#define CLF_OPS_ATTENTION_H

#include "ops/dropout.h"
#include "ops/mask.h"
#include "program/launch.h"
#include "tensor/tensor.h"

/* Heads lie side by side: head h of a query or key is columns h * key_width .. of its row. */
struct clf__heads {
    int count;       /* H */
    int key_width;   /* K */
    int value_width; /* width of a value and of the output */
    float scale;     /* of the scores: 1 / sqrt(K), or 1 */
};

/* Scratch of the batched form: padded heads and scores of N sequences, as many as it takes at a time. The
 * fused form uses none of it (buffers NULL) but the memory. */
struct clf__attention_scratch {
    struct clf__tensor queries;          /* (N * H * max_queries, K) */
    struct clf__tensor keys;             /* (N * H * max_keys, K) */
    struct clf__tensor values;           /* (N * H * max_keys, value_width) */
    struct clf__tensor scores;           /* (N * H * max_queries, max_keys) */
    struct clf__tensor outputs;          /* (N * H * max_queries, value_width) */
    struct clf__tensor memory;           /* (key rows, H (K + d_v)): where the caller keeps keys and values as
                                          * halves, and the call does not read them so; the caller reserves it */
    struct clf__tensor blocks;           /* (G, D), and the next: what transient global tokens are made in;
                                          * the caller reserves both */
    struct clf__tensor block_projection; /* (G, H (2 K + d_v)) */
};

/* Reserves what a batch of at most these sizes needs in the batched form: for all its sequences, or for as
 * many as keep the scores in 64 MiB, at least one. Shorter sequences share it in larger numbers. */
clf_status clf__attention_scratch_reserve(struct clf__attention_scratch *scratch, struct clf__arena *arena,
                                          int sequences, const struct clf__heads *heads, int max_queries,
                                          int max_keys);

/* The transient global tokens of a batch (Guo et al. 2022, 3.2.2): keys and values that stand for blocks of a
 * sequence's rows, seen by all queries of the sequence. */
struct clf__global_tokens {
    struct clf__tensor keys;     /* (G, H * K) */
    struct clf__tensor values;   /* (G, H * value_width) */
    struct clf__tensor table;    /* (B, 2) i32: the first global token of each sequence, and their number */
    struct clf__tensor relative; /* (H, 2 R + 1): [h][clamp(g - block(i), -R, R) + R] is added, where block(i)
                                  * is min(i / block_size, number - 1); buffer NULL: none */
    int block_size;
    int most; /* of a sequence */
};

/* Which rows of a batch make its global tokens: a sequence's row i belongs to block(i). */
struct clf__global_blocks {
    struct clf__tensor segments; /* (G, 2) i32: the first row of each block, and the row after its last one */
    struct clf__tensor table, relative; /* as above */
    int block_size;
    int most; /* of a sequence */
};

/* Attention within a window: query i sees the keys of its sequence at most `radius` rows from i, and the
 * sequence's global tokens. */
struct clf__attention_window {
    int radius;
    const struct clf__global_tokens *globals; /* NULL: none */
};

/* Everything but the operands of one attention. */
struct clf__attention_call {
    struct clf__heads heads;
    struct clf__sequence_ranges ranges;
    struct clf__mask mask;
    struct clf__attention_scratch *scratch; /* needed by the batched form, by maps and for halves */
    struct clf__tensor maps;    /* (B * H * max_queries, max_keys): receives the probabilities, padding 0, and
                                 * takes the batched form; packed; buffer NULL: not wanted */
    struct clf__tensor weights; /* as clf__attention_weights_forward() has it, of the first weight_heads
                                 * heads; buffer NULL: not wanted */
    int weight_heads;
    struct clf__tensor partials; /* (1, clf__attention_partials()) floats of scratch: several groups may then
                                  * share the keys of a query, which changes no bits. Used where decoder
                                  * layers go in one launch, and by few queries of the GPU form; buffer NULL
                                  * or too small: a query is one group's */
    struct clf__dropout dropout; /* of the probabilities, in training; fused form alone. Its row is query row
                                  * times H plus head, its column the key's place in its sequence */
    int few_queries; /* set by a decoding step, whose sequences have a handful of queries: keys are then not
                      * packed, and in the GPU form a group takes one query. Not derived from max_queries,
                      * which is the batch's: a sequence alone must get the same bits */
    const struct clf__global_blocks *blocks;    /* for layers that make global tokens; NULL: they do not */
    const struct clf__attention_window *window; /* NULL: a query sees all keys. A call with a window is for
                                                 * clf__attention_local_forward() */
    clf_precision precision; /* of the layer's weights, the same for every batch. If it is not fp32, devices
                              * with matrix instructions use them for blocks of queries: q, k, v and
                              * probabilities are rounded to bf16 if it is bf16, and to fp16 otherwise */
};

/* Returns the number of parts of this many keys. */
int clf__attention_parts(int keys);
/* Returns the floats that hold the sums of all parts for these rows of queries; 0 if there is one part. */
int64_t clf__attention_partials(const struct clf__heads *heads, int rows, int max_keys);
/* Returns the rows up to which the GPU form lets several groups share the keys of a query; the groups of
 * more rows occupy the device as they are. */
int clf__attention_split_rows(const struct clf_device *device, const struct clf__heads *heads);
/* Returns the parts of keys that groups of the GPU form share in a launch; 1: each group takes a query. */
int clf__attention_split(const struct clf_device *device, const struct clf__heads *heads, int rows,
                         int max_keys, struct clf__tensor partials);

/* What the kernels keep of one head, and the most that there is room for. */
struct clf__attention_room {
    size_t bytes, limit;
    const char *place; /* "a thread's stack", "local memory" */
};
/* The CPU form keeps it in private memory, which is the stack of one of the driver's threads: nobody checks
 * that. The GPU form keeps it in local memory. is_trained: the gradients too. */
struct clf__attention_room clf__attention_room(const struct clf_device *device,
                                               const struct clf__heads *heads, int is_trained);

/* Per sequence b of ranges and head h: y = softmax(scale * q kᵀ + mask) v. q, k and v may be column views of
 * one fused projection. A query that may look at nothing gets zeros. The device's caps choose the form: fused
 * (one pass, no score matrix) or batched (products around a masked softmax, needs scratch).
 *
 * Bits do not depend on what else is in the batch (fused form). */
clf_status clf__attention_forward(struct clf__tensor y, /* (query rows, H * value_width) */
                                  struct clf__tensor q, /* (query rows, H * K) */
                                  struct clf__tensor k, /* (key rows, H * K) */
                                  struct clf__tensor v, /* (key rows, H * value_width) */
                                  const struct clf__attention_call *call);

/* The same of clf__attention_step_forward(): bf16 and f16 in the GPU form. */
int clf__attention_step_writes(enum clf__type type, const struct clf_device *device);

/* The macro of cl/include/result.cl for the type of a result. */
const char *clf__result_define(struct clf__tensor y);

/* Whether q, k and v may all be of this type, CLF__BF16 or CLF__F16: the 16 bits to which matrix instructions
 * round them for this call. Then every head of them has to start on 16 bytes. */
int clf__attention_reads(enum clf__type type, const struct clf_device *device,
                         const struct clf__attention_call *call);

/* Whether keys and values may be halves (ops/cache.h), for few queries of the fused form. */
int clf__attention_reads_halves(const struct clf_device *device, const struct clf__attention_call *call);

/* Where each query looks: the mean of the probabilities of the first `heads` heads. Columns behind a
 * sequence's keys, and hidden keys, get zeros, and so does a query that may look at nothing; keys beyond y's
 * columns have no part. Of the masks only hidden keys. Bits do not depend on what else is in the batch. */
clf_status clf__attention_weights_forward(struct clf__tensor y,                       /* (query rows, keys) */
                                          struct clf__tensor q, struct clf__tensor k, /* may be halves */
                                          int heads, const struct clf__attention_call *call);

/* Its batched form, which holds the whole score matrix, and so the one that can give the maps; for at least
 * one sequence and one query. */
clf_status clf__attention_batched_forward(struct clf__tensor y, struct clf__tensor q, struct clf__tensor k,
                                          struct clf__tensor v, const struct clf__attention_call *call);

/* Whether it can write y in this type, for a product that reads it so: bf16 in the CPU form's fused kernel,
 * and bf16 and f16 in those of the GPU form. */
int clf__attention_writes(enum clf__type type, const struct clf_device *device,
                          const struct clf__attention_call *call);

/* Where clf__attention_backward() puts what it finds. */
struct clf__attention_gradients {
    struct clf__tensor
        query;              /* (query rows, H * K): these three are overwritten, and may be column views of */
    struct clf__tensor key; /* (key rows, H * K)    one gradient of a fused projection */
    struct clf__tensor value;    /* (key rows, H * value_width) */
    struct clf__tensor relative; /* (H, 2 R + 1), added to; buffer NULL: not wanted */
    struct clf__tensor scratch;  /* (1, n) floats */
};
/* Floats of scratch for a batch of these sizes; relative_width: 2 R + 1, or 0. */
size_t clf__attention_backward_scratch(const struct clf__heads *heads, int query_rows, int sequences,
                                       int relative_width);

/* The gradients of clf__attention_forward(), fused whatever the caps say: the probabilities are computed
 * anew, and dropout hides the same ones. A query that may look at nothing takes no part. */
clf_status clf__attention_backward(const struct clf__attention_gradients *gradients,
                                   struct clf__tensor dy, /* (query rows, H * value_width) */
                                   struct clf__tensor q, struct clf__tensor k, struct clf__tensor v,
                                   struct clf__tensor y, /* what the forward pass gave */
                                   const struct clf__attention_call *call);

/* Where a decoding step finds its keys and values (see ops/cache.h). */
struct clf__attention_history {
    struct clf__tensor keys;       /* (cache_rows_total * positions_total, H * K) */
    struct clf__tensor values;     /* (cache_rows_total * positions_total, H * value_width) */
    struct clf__tensor table;      /* (cache rows, positions) i32 */
    struct clf__tensor cache_rows; /* (1, R) i32: the cache row of each query row */
    struct clf__tensor positions;  /* (1, R) i32: keys 0 .. positions[r] are seen */
    struct clf__tensor relative;   /* (H, 2 R + 1) as in clf__mask; buffer NULL: none */
    int cache_rows_total;
    double pairs;                /* of a row and a key that it sees, for the profile; 0: not counted */
    int most_keys;               /* that a row sees; 0: not known */
    struct clf__tensor partials; /* as in clf__attention_call */
};
/* Returns most_keys, or the positions of the history where it is not known. */
int clf__attention_most_keys(const struct clf__attention_history *history);

/* What a kernel takes of a history for so many query rows, which it may split into parts; the places of the
 * rows themselves are the caller's. */
struct clf__attention_step_sizes clf__attention_step_sizes(const struct clf__heads *heads,
                                                           const struct clf__attention_history *history,
                                                           int rows);

/* How the GPU form of a kernel takes its work: work-items of a group, its local memory, and macros, none of
 * which changes what comes out; none and "" in the CPU form. Below, of cl/attention/attention_step.cl: so
 * many rows times heads, each with so many keys at most. */
struct clf__attention_group {
    size_t items, local_bytes;
    char defines[32];
    int ways, is_aligned; /* tiles of keys beside each other, and whether heads start on eight elements */
};
/* Halves the tiles of a group for cl/attention/attention_step.cl; false if it has one or none. */
int clf__attention_group_halve(struct clf__attention_group *group, const struct clf__heads *heads);
struct clf__attention_group clf__attention_step_group(const struct clf_device *device,
                                                      const struct clf__heads *heads, struct clf__tensor k,
                                                      struct clf__tensor v, size_t tasks, int keys);

/* These three are shared by the launches of cl/attention/attention.cl and attention_local.cl. */
/* Returns the queries that a group takes together: what the GPU form is built for; in the CPU form many,
 * which share packed keys, or fewer where groups would not occupy the processors. The number decides which
 * group takes a query, and changes no bits. */
int clf__attention_block_queries(const struct clf__attention_call *call, const struct clf__caps *caps);
struct clf__attention_group clf__attention_block_group(const struct clf__caps *caps,
                                                       const struct clf__heads *heads, struct clf__tensor q,
                                                       struct clf__tensor k, struct clf__tensor v);
/* Counts the blocks of queries of all heads and sequences, times slices of value columns. Fails with
 * CLF_UNSUPPORTED if a kernel cannot count so far. */
clf_status clf__attention_count_tasks(size_t *tasks, const struct clf__attention_call *call, int block,
                                      size_t slices);

/* What one pass takes over so many query rows, key rows, and pairs of them. */
struct clf__cost clf__attention_cost(const struct clf__heads *heads, double queries, double keys,
                                     enum clf__type key_type, double pairs);

/* What joining the parts of these query rows takes. */
struct clf__cost clf__attention_join_cost(const struct clf__heads *heads, int rows, int parts);

/* Row r's key and value go into its history, as row cache_rows[r] * positions_total + positions[r]; then its
 * query looks at all of it: key t is keys[table[cache_rows[r]][t] * positions_total + t]. Of the keys that
 * this call adds a row may look at its own alone. With k and v without buffers they are in the history
 * already, and rows may look at each other's. A row whose cache row or position lies outside the history adds
 * nothing and gets zeros. */
clf_status clf__attention_step_forward(struct clf__tensor y, /* (R, H * value_width) */
                                       struct clf__tensor q, /* (R, H * K) */
                                       struct clf__tensor k, /* (R, H * K) */
                                       struct clf__tensor v, /* (R, H * value_width) */
                                       const struct clf__heads *heads,
                                       const struct clf__attention_history *history);

#endif
