/* A norm with gain (gamma) and shift (beta). */
#ifndef CLF_LAYERS_NORM_H
#define CLF_LAYERS_NORM_H

#include "math/ops/layernorm.h"
#include "runtime/device/pool.h"

struct clf__norm {
    struct clf__tensor gamma; /* (1, D), owned */
    struct clf__tensor beta;  /* (1, D), owned; buffer NULL: none */
    enum clf__norm_kind kind;
    float epsilon;
};

/* Creates a norm from host values; beta may be NULL. */
clf_status clf__norm_create(struct clf__norm *out, struct clf_device *device, enum clf__norm_kind kind,
                            float epsilon, int width, const float *gamma, const float *beta,
                            const char *what);
/* Reserves a zeroed norm with the sizes of `like` in a pool. The caller calls clf__norm_free(), even after
 * a failure. */
clf_status clf__norm_reserve_zero(struct clf__norm *out, struct clf__pool *pool, const struct clf__norm *like,
                                  const char *what);
void clf__norm_free(struct clf__norm *norm);

clf_status clf__norm_forward(struct clf__tensor y, /* (N, D); may be x */
                             struct clf__tensor x, /* (N, D) */
                             const struct clf__norm *norm);

/* Like clf__norm_forward(), but also writes y in the type of `rounded`; y.buffer or rounded.buffer may be
 * NULL. */
clf_status clf__norm_forward_rounded(struct clf__tensor y,       /* (N, D); may be x */
                                     struct clf__tensor rounded, /* (N, D) as a GEMM reads it */
                                     struct clf__tensor x,       /* (N, D) */
                                     const struct clf__norm *norm);

/* Computes dx and adds to the gain and shift of `gradient`. */
clf_status clf__norm_backward(struct clf__tensor dx,                                   /* (N, D); may be dy */
                              const struct clf__norm *gradient, struct clf__tensor dy, /* (N, D) */
                              struct clf__tensor x, /* (N, D) input of the forward pass */
                              const struct clf__norm *norm,
                              struct clf__tensor scratch); /* (1, n), n = clf__layernorm_backward_scratch() */

#endif
