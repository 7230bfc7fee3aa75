/* Normalisation of rows. */
#ifndef CLF_OPS_LAYERNORM_H
#define CLF_OPS_LAYERNORM_H

#include "tensor/tensor.h"

enum clf__norm_kind {
    CLF__NORM_LAYER, /* (x - mean) / sqrt(var + eps) * gamma + beta, var over D (Ba et al. 2016) */
    CLF__NORM_RMS,   /* x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019) */
    CLF__NORM_STD,   /* gamma * (x - mean) / (std + eps) + beta, std over D - 1 (The Annotated Transformer) */
};

/* y may be x. beta.buffer may be NULL. */
clf_status clf__layernorm_forward(struct clf__tensor y,     /* (N, D) */
                                  struct clf__tensor x,     /* (N, D) */
                                  struct clf__tensor gamma, /* (1, D) */
                                  struct clf__tensor beta,  /* (1, D) */
                                  enum clf__norm_kind kind, float eps);

#endif
