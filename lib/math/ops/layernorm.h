/* Layer normalisation and its variants. */
#ifndef CLF_OPS_LAYERNORM_H
#define CLF_OPS_LAYERNORM_H

#include "math/tensor/tensor.h"

enum clf__norm_kind {
    CLF__NORM_LAYER, /* (x - mean) / sqrt(var + eps) * gamma + beta, var over D (Ba et al. 2016) */
    CLF__NORM_RMS,   /* x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019) */
    CLF__NORM_STD,   /* gamma * (x - mean) / (std + eps) + beta, std over D - 1 (The Annotated Transformer) */
};

/* y may be x. rounded is y in bf16, fp16 or quantized, for GEMMs that read that type; y.buffer or
 * rounded.buffer may be NULL, and so may beta.buffer. */
clf_status clf__layernorm_forward(struct clf__tensor y,       /* (N, D) */
                                  struct clf__tensor rounded, /* (N, D) */
                                  struct clf__tensor x,       /* (N, D) */
                                  struct clf__tensor gamma,   /* (1, D) */
                                  struct clf__tensor beta,    /* (1, D) */
                                  enum clf__norm_kind kind, float eps);

/* Returns the number of quads of a row that a work-item of the GPU variant holds (HELD of
 * cl/rows/layernorm.cl); 0: the row is too long. */
int clf__layernorm_held(int columns);

/* Returns the number of floats of scratch memory that clf__layernorm_backward() needs. */
size_t clf__layernorm_backward_scratch(int rows, int columns);

/* dx = the gradient of x, overwritten; dgamma and dbeta are accumulated; mean and variance are recomputed
 * from x. dx may be dy. dbeta.buffer may be NULL. */
clf_status clf__layernorm_backward(struct clf__tensor dx,     /* (N, D) */
                                   struct clf__tensor dgamma, /* (1, D) */
                                   struct clf__tensor dbeta,  /* (1, D) */
                                   struct clf__tensor dy,     /* (N, D) */
                                   struct clf__tensor x,      /* (N, D) */
                                   struct clf__tensor gamma,  /* (1, D) */
                                   enum clf__norm_kind kind, float eps,
                                   struct clf__tensor scratch); /* (1, n) */

#endif
