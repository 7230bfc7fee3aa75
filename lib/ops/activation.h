/* Pointwise non-linearities that do not sit in a product's epilogue. */
#ifndef CLF_OPS_ACTIVATION_H
#define CLF_OPS_ACTIVATION_H

#include "tensor/tensor.h"

/* y = activation(x); y may be x. */
clf_status clf__activation_forward(struct clf__tensor y, /* (N, F) */
                                   struct clf__tensor x, /* (N, F) */
                                   enum clf__activation kind);

/* y = activation(x) * gate (Shazeer 2020, GLU variants); y may be x or gate. */
clf_status clf__gate_forward(struct clf__tensor y,    /* (N, F) */
                             struct clf__tensor x,    /* (N, F) */
                             struct clf__tensor gate, /* (N, F) */
                             enum clf__activation kind);

#endif
