/* The way into a stack: front end, positions, norm. */
#ifndef CLF_MODEL_EMBEDDER_H
#define CLF_MODEL_EMBEDDER_H

#include "config/sides.h"
#include "layers/front_end.h"
#include "layers/norm.h"
#include "layers/relative_bias.h"

struct clf__embedder {
    struct clf__front_end front_end;
    struct clf__tensor positions; /* (P, D), owned; buffer NULL: none. Learned, or the sinusoids that
                                   * clf__embedder_reach() was asked for */
    struct clf__norm norm;        /* of the sum; gamma NULL: none */
    int norms_tokens;             /* the norm is of what the front end gives, before positions are added */
    struct clf__relative_bias relative;        /* the stack's */
    struct clf__relative_bias global_relative; /* the bias of global tokens, by block distance */
};

/* Where a table of positions has the first token's row, and that of pad tokens where these keep a position of
 * their own; -1: they have none. A table that is learned has the rows that its parameter has, and one of
 * sinusoids only those that are looked up. */
struct clf__position_rows {
    int first, pad;
};
struct clf__position_rows clf__position_rows(const struct clf__config *config, enum clf__side side);

/* Lengthens the tables of positions, where they are too short for sequences of up to `length` tokens. They do
 * not begin with the configuration's maxima, which may be far beyond what any session uses. Never called in a
 * dry run. On failure the tables stay as they were. */
clf_status clf__embedder_reach(struct clf__embedder *embedder, struct clf_device *device,
                               const struct clf__config *config, enum clf__side side, int length);
/* The same of a layer's own relative bias. */
clf_status clf__relative_bias_reach(struct clf__relative_bias *relative, struct clf_device *device,
                                    const struct clf__config *config, enum clf__side side, int length);
void clf__relative_bias_free_table(struct clf__relative_bias *relative);
/* A relative bias of zeros like another one's in a pool, for the gradients that are summed into the
 * parameter's. */
clf_status clf__embedder_reserve_zero_relative(struct clf__embedder *out, struct clf__pool *pool,
                                               const struct clf__embedder *like);
/* Frees the tables that are no parameters. */
void clf__embedder_free_tables(struct clf__embedder *embedder);

/* y = norm(FrontEnd(input) + P[positions]), or norm(FrontEnd(input)) + P[positions]. */
clf_status clf__embedder_forward(struct clf__tensor y, /* (N, D) */
                                 const struct clf__embedder *embedder,
                                 const struct clf__front_end_input *input,
                                 struct clf__tensor positions); /* (1, N) i32 */

/* The rows of a batch and what training needs of them. */
struct clf__embedder_training {
    struct clf__front_end_input input;
    struct clf__tensor positions;          /* as above */
    struct clf__id_groups position_groups; /* unused where they are not trained */
    struct clf__tensor sums;               /* (N, D) what goes into the norm; unused without */
    struct clf__dropout dropout;
    int drops_before_norm; /* norm(dropout(sum)), else dropout(norm(sum)) */
};

/* clf__embedder_forward() with dropout and a record; not of one that norms tokens, which no system that is
 * trained has. */
clf_status clf__embedder_record(struct clf__tensor y, /* (N, D) */
                                const struct clf__embedder *embedder,
                                const struct clf__embedder_training *training);
/* dy is overwritten. */
clf_status clf__embedder_backward(const struct clf__embedder *gradient, struct clf__tensor dy, /* (N, D) */
                                  const struct clf__embedder *embedder,
                                  const struct clf__embedder_training *training, struct clf__tensor scratch);

/* `relative` anew from `relative_by_bucket`, and the gradient of that from the gradient of the former; by way
 * of the host. Nothing where there is none. */
clf_status clf__embedder_renew_relative(const struct clf__embedder *embedder,
                                        const struct clf__config *config, enum clf__side side);
clf_status clf__embedder_relative_backward(const struct clf__embedder *gradient,
                                           const struct clf__config *config, enum clf__side side);

#endif
