/* Pointwise activation functions that are not in the GEMM epilogue. */
#ifndef CLF_OPS_ACTIVATION_H
#define CLF_OPS_ACTIVATION_H

#include "math/tensor/tensor.h"

/* y = activation(x); y may be x. */
clf_status clf__activation_forward(struct clf__tensor y, /* (N, F) */
                                   struct clf__tensor x, /* (N, F) */
                                   enum clf__activation kind);

/* dx = dy * activation'(x); dx may be dy or x. */
clf_status clf__activation_backward(struct clf__tensor dx, /* (N, F) */
                                    struct clf__tensor dy, /* (N, F) */
                                    struct clf__tensor x,  /* (N, F) */
                                    enum clf__activation kind);

/* y = activation(x) * gate (Shazeer 2020, GLU variants); y may be x or gate. */
clf_status clf__gate_forward(struct clf__tensor y,    /* (N, F) */
                             struct clf__tensor x,    /* (N, F) */
                             struct clf__tensor gate, /* (N, F) */
                             enum clf__activation kind);

/* dx = dy * gate * activation'(x), dgate = dy * activation(x); dx may be x, and dgate may be gate or dy. */
clf_status clf__gate_backward(struct clf__tensor dx,    /* (N, F) */
                              struct clf__tensor dgate, /* (N, F) */
                              struct clf__tensor dy,    /* (N, F) */
                              struct clf__tensor x,     /* (N, F) */
                              struct clf__tensor gate,  /* (N, F) */
                              enum clf__activation kind);

#endif
