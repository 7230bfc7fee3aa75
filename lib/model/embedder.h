/* The input layer of a stack: front end, positions, norm. */
#ifndef CLF_MODEL_EMBEDDER_H
#define CLF_MODEL_EMBEDDER_H

#include "math/layers/front_end.h"
#include "math/layers/norm.h"
#include "math/layers/relative_bias.h"
#include "model/config/sides.h"

struct clf__embedder {
    struct clf__front_end front_end;
    struct clf__tensor positions; /* (P, D), owned; buffer NULL: none. A learned table, or sinusoids up to the
                                     length passed to clf__embedder_ensure_positions() */
    struct clf__norm norm;        /* norm of the sum; gamma NULL: none */
    int norms_tokens; /* 1: the norm applies to the front end's output, before the positions are added */
    struct clf__relative_bias relative;        /* relative bias of the stack */
    struct clf__relative_bias global_relative; /* bias of the global tokens by block distance */
};

/* The position table's row for the first token, and its row for pad tokens if they have a separate position,
 * otherwise -1. A learned table has all rows of the parameter, a table of sinusoids only the rows needed so
 * far. */
struct clf__position_rows {
    int first, pad;
};
struct clf__position_rows clf__position_rows(const struct clf__config *config, enum clf__side side);

/* Enlarges the position tables if they are too short for `length` tokens. Tables start small because the
 * configured maximum may be far larger than needed. Not allowed in a dry run. After a failure the tables are
 * unchanged. */
clf_status clf__embedder_ensure_positions(struct clf__embedder *embedder, struct clf_device *device,
                                          const struct clf__config *config, enum clf__side side, int length);
/* The same for the relative bias of a layer. */
clf_status clf__relative_bias_ensure_positions(struct clf__relative_bias *relative, struct clf_device *device,
                                               const struct clf__config *config, enum clf__side side,
                                               int length);
void clf__relative_bias_free_table(struct clf__relative_bias *relative);
/* Reserves a zeroed relative bias of the same size in a pool, in which to sum the gradient of the bias.
 */
clf_status clf__embedder_reserve_zero_relative(struct clf__embedder *out, struct clf__pool *pool,
                                               const struct clf__embedder *like);
/* Frees tables that are not parameters. */
void clf__embedder_free_tables(struct clf__embedder *embedder);

/* Computes y = norm(FrontEnd(input) + P[positions]), or norm(FrontEnd(input)) + P[positions]. */
clf_status clf__embedder_forward(struct clf__tensor y, /* (N, D) */
                                 const struct clf__embedder *embedder,
                                 const struct clf__front_end_input *input,
                                 struct clf__tensor positions); /* (1, N) i32 */

/* The rows of a batch and data for training. */
struct clf__embedder_training {
    struct clf__front_end_input input;
    struct clf__tensor positions;          /* as in clf__embedder_forward() */
    struct clf__id_groups position_groups; /* unused if positions are not trained */
    struct clf__tensor sums;               /* (N, D) input of the norm; unused without a norm */
    struct clf__dropout dropout;
    int drops_before_norm; /* 1: norm(dropout(sum)); 0: dropout(norm(sum)) */
};

/* clf__embedder_forward() with dropout, which also records data for the backward pass. Does not support
 * norms_tokens, which no trainable architecture uses. */
clf_status clf__embedder_record(struct clf__tensor y, /* (N, D) */
                                const struct clf__embedder *embedder,
                                const struct clf__embedder_training *training);
/* Runs the backward pass; overwrites dy. */
clf_status clf__embedder_backward(const struct clf__embedder *gradient, struct clf__tensor dy, /* (N, D) */
                                  const struct clf__embedder *embedder,
                                  const struct clf__embedder_training *training, struct clf__tensor scratch);

/* Recompute on the host `relative` from `relative_by_bucket`, and the gradient of `relative_by_bucket` from
 * the gradient of `relative`. Do nothing if there is no relative bias. */
clf_status clf__embedder_renew_relative(const struct clf__embedder *embedder,
                                        const struct clf__config *config, enum clf__side side);
clf_status clf__embedder_relative_backward(const struct clf__embedder *gradient,
                                           const struct clf__config *config, enum clf__side side);

#endif
