/* y = activation(scale * x Wᵀ + b) + residual. */
#ifndef CLF_LAYERS_LINEAR_H
#define CLF_LAYERS_LINEAR_H

#include "math/ops/dropout.h"
#include "math/tensor/tensor.h"
#include "runtime/device/pool.h"

struct clf__linear {
    struct clf__weight *weight; /* (outputs, inputs); owned unless shared */
    struct clf__buffer *bias;   /* (outputs), or NULL */
    float scale;
    int weight_is_shared; /* owned elsewhere: an embedding that is tied to the projection */
};

/* Returns the type in which the GEMM reads x: CLF__F32, CLF__BF16 or CLF__F16. Floats are converted to this
 * type first. */
enum clf__type clf__linear_operand(const struct clf__linear *linear);
/* Returns the type of rows that are converted once for several GEMMs: clf__linear_operand(), or
 * CLF__QUANTIZED. */
enum clf__type clf__linear_row_operand(const struct clf__linear *linear);

/* Creates a layer from host values. `bias` has one float per output, or is NULL. A failure leaves no
 * memory allocated. */
clf_status clf__linear_create_streamed(struct clf__linear *out, struct clf_device *device,
                                       const struct clf__weight_stream *stream, const float *bias);
clf_status clf__linear_create(struct clf__linear *out, struct clf_device *device,
                              const struct clf__weight_source *source, const float *bias);
/* Creates a layer with a shared weight on the device, which the layer does not own. */
clf_status clf__linear_create_shared(struct clf__linear *out, struct clf_device *device,
                                     struct clf__weight *weight, const float *bias, const char *what);
/* Reserves a zeroed layer with the sizes of `like` in a pool, for gradients and moments. `shared` replaces
 * the weight if it is shared; otherwise it is NULL. The caller calls clf__linear_free(), even after a
 * failure. */
clf_status clf__linear_reserve_zero(struct clf__linear *out, struct clf__pool *pool,
                                    const struct clf__linear *like, struct clf__weight *shared,
                                    const char *what);
void clf__linear_free(struct clf__linear *linear);

/* Computes y. residual.buffer may be NULL; residual may be y. */
clf_status clf__linear_forward(struct clf__tensor y, /* (N, outputs) */
                               struct clf__tensor x, /* (N, inputs) */
                               const struct clf__linear *linear, enum clf__activation activation,
                               struct clf__tensor residual); /* (N, outputs) */

/* Computes the gradients of clf__linear_forward() without activation. Adds to the weight and bias of
 * `gradient` (a bias of NULL is not trained); dx = the gradient of x + residual. */
clf_status clf__linear_backward(struct clf__tensor dx, /* (N, inputs); buffer NULL: not computed */
                                const struct clf__linear *gradient, struct clf__tensor dy, /* (N, outputs) */
                                struct clf__tensor x,                                      /* (N, inputs) */
                                const struct clf__linear *linear,
                                struct clf__tensor residual, /* (N, inputs); may be dx, or buffer NULL */
                                struct clf__tensor scratch); /* (1, n), n = clf__bias_backward_scratch() */

/* Compute y = dropout(x Wᵀ + b) + residual, and the gradient of the dropout's input: dy itself without
 * dropout, otherwise a tensor in `kept`. */
clf_status clf__linear_dropout_forward(struct clf__tensor y, struct clf__tensor x,
                                       const struct clf__linear *linear, struct clf__tensor residual,
                                       const struct clf__dropout *dropout);
clf_status clf__dropout_gradient(struct clf__tensor *out, struct clf__tensor kept, struct clf__tensor dy,
                                 const struct clf__dropout *dropout);

/* Creates a device buffer from `count` host floats, such as biases, gains of norms, and tables. */
clf_status clf__buffer_from_host(struct clf__buffer **out, struct clf_device *device, const float *values,
                                 size_t count, const char *what);

#endif
