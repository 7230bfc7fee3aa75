/* The output projection, reduced to the best candidates of each row, or to the log-probability of one label
 * per row. */
#ifndef CLF_OPS_PROJECTION_H
#define CLF_OPS_PROJECTION_H

#include "math/ops/top_k.h"

/* logits (R, V) = scale * x Wᵀ + bias */
struct clf__projection {
    const struct clf__weight *weight; /* (V, D) */
    const struct clf__buffer *bias;   /* (V), or NULL */
    float scale;
};

/* Scratch memory for some rows at a time. The CPU variant with native weights reduces each tile of logits
 * immediately, and needs `partials` and `ids`; otherwise logits are stored. */
struct clf__projection_scratch {
    int rows;
    struct clf__tensor logits;   /* (rows, V) */
    struct clf__tensor partials; /* (1, n) */
    struct clf__tensor ids;      /* (1, m) i32 */
    struct clf__tensor counter;  /* (1, 1) i32, zero, owned by the caller: on devices with atomics, few
                                  * rows need only one launch; buffer NULL: two launches */
};

/* Reserves the scratch memory for calls of at most `rows` rows and k candidates. with_logits: always
 * reserves the logits. */
clf_status clf__projection_scratch_reserve(struct clf__projection_scratch *scratch, struct clf__arena *arena,
                                           const struct clf__projection *projection, int rows, int k,
                                           int with_logits);

/* Computes clf__top_k_forward() of the projection's logits. */
clf_status clf__projection_top_k(struct clf__tensor values,     /* (R, k) */
                                 struct clf__tensor ids,        /* (R, k) i32 */
                                 struct clf__tensor statistics, /* (R, 4) */
                                 struct clf__tensor x,          /* (R, D) */
                                 const struct clf__projection *projection,
                                 struct clf__tensor banned,         /* (1, n) i32 */
                                 struct clf__tensor banned_offsets, /* (1, R + 1) i32 */
                                 int both, const struct clf__projection_scratch *scratch);

/* Computes clf__log_softmax_pick() of the projection's logits. */
clf_status clf__projection_pick(struct clf__tensor picked, /* (1, R) */
                                struct clf__tensor x,      /* (R, D) */
                                const struct clf__projection *projection,
                                struct clf__tensor labels, /* (1, R) i32 */
                                const struct clf__projection_scratch *scratch);

/* Computes the projection of x (rows, D) in scratch->logits; x has at most scratch->rows rows. */
clf_status clf__projection_logits(struct clf__tensor *logits, struct clf__tensor x,
                                  const struct clf__projection *projection,
                                  const struct clf__projection_scratch *scratch);

#endif
