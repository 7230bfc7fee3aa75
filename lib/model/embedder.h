/* The input of a stack: front end, positions, norm. */
#ifndef CLF_MODEL_EMBEDDER_H
#define CLF_MODEL_EMBEDDER_H

#include "math/layers/front_end.h"
#include "math/layers/norm.h"
#include "math/layers/relative_bias.h"
#include "model/config/sides.h"

struct clf__embedder {
    struct clf__front_end front_end;
    struct clf__tensor positions; /* (P, D), owned; buffer NULL: none. Learned positions, or sinusoids up to
                                   * the length of clf__embedder_ensure_positions() */
    struct clf__norm norm;        /* norm of the sum; gamma NULL: none */
    int norms_tokens; /* 1: the norm applies to the front end's output, before positions are added */
    struct clf__relative_bias relative;        /* relative bias of the stack */
    struct clf__relative_bias global_relative; /* the bias of global tokens, by block distance */
};

/* Row of the first token in the position table, and row of pad tokens if they have a separate position, else
 * -1. A learned table has all rows of its parameter, a table of sinusoids only the required rows. */
struct clf__position_rows {
    int first, pad;
};
struct clf__position_rows clf__position_rows(const struct clf__config *config, enum clf__side side);

/* Enlarges position tables that are too short for sequences of `length` tokens. Tables start small, because
 * the configuration's maximum may be far larger than any session needs. Must not be called in a dry run. On
 * failure the tables are unchanged. */
clf_status clf__embedder_ensure_positions(struct clf__embedder *embedder, struct clf_device *device,
                                          const struct clf__config *config, enum clf__side side, int length);
/* Like clf__embedder_ensure_positions(), for a layer's relative bias. */
clf_status clf__relative_bias_ensure_positions(struct clf__relative_bias *relative, struct clf_device *device,
                                               const struct clf__config *config, enum clf__side side,
                                               int length);
void clf__relative_bias_free_table(struct clf__relative_bias *relative);
/* Reserves a zero relative bias of the same size in a pool, for gradients that are summed into the
 * parameter's gradient. */
clf_status clf__embedder_reserve_zero_relative(struct clf__embedder *out, struct clf__pool *pool,
                                               const struct clf__embedder *like);
/* Frees tables that are not parameters. */
void clf__embedder_free_tables(struct clf__embedder *embedder);

/* Computes y = norm(FrontEnd(input) + P[positions]), or norm(FrontEnd(input)) + P[positions]. */
clf_status clf__embedder_forward(struct clf__tensor y, /* (N, D) */
                                 const struct clf__embedder *embedder,
                                 const struct clf__front_end_input *input,
                                 struct clf__tensor positions); /* (1, N) i32 */

/* The rows of a batch and the data that training needs. */
struct clf__embedder_training {
    struct clf__front_end_input input;
    struct clf__tensor positions;          /* as in clf__embedder_forward() */
    struct clf__id_groups position_groups; /* unused if positions are not trained */
    struct clf__tensor sums;               /* (N, D) input of the norm; unused without a norm */
    struct clf__dropout dropout;
    int drops_before_norm; /* 1: norm(dropout(sum)); 0: dropout(norm(sum)) */
};

/* clf__embedder_forward() with dropout and recording for the backward pass. Not supported with norms_tokens,
 * which no trainable architecture has. */
clf_status clf__embedder_record(struct clf__tensor y, /* (N, D) */
                                const struct clf__embedder *embedder,
                                const struct clf__embedder_training *training);
/* Runs the backward pass; overwrites dy. */
clf_status clf__embedder_backward(const struct clf__embedder *gradient, struct clf__tensor dy, /* (N, D) */
                                  const struct clf__embedder *embedder,
                                  const struct clf__embedder_training *training, struct clf__tensor scratch);

/* Recomputes `relative` from `relative_by_bucket`, and the gradient of relative_by_bucket from the gradient
 * of relative, on the host. Does nothing without a relative bias. */
clf_status clf__embedder_renew_relative(const struct clf__embedder *embedder,
                                        const struct clf__config *config, enum clf__side side);
clf_status clf__embedder_relative_backward(const struct clf__embedder *gradient,
                                           const struct clf__config *config, enum clf__side side);

#endif
