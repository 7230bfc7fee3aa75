/* y = activation(scale * x Wᵀ + b) + residual. */
#ifndef CLF_LAYERS_LINEAR_H
#define CLF_LAYERS_LINEAR_H

#include "tensor/tensor.h"

struct clf__linear {
    struct clf__weight *weight; /* (outputs, inputs); owned unless shared */
    struct clf__buffer *bias;   /* (outputs), or NULL */
    float scale;
    int weight_is_shared; /* belongs to somebody else: the embedding, where the projection is tied to it */
};

/* A layer from host values. `bias` has one float an output, or is NULL. On failure nothing is left behind. */
clf_status clf__linear_create(struct clf__linear *out, struct clf_device *device,
                              const struct clf__weight_source *source, const float *bias);
/* The same over a weight that already lies on the device and is not owned. */
clf_status clf__linear_create_shared(struct clf__linear *out, struct clf_device *device,
                                     struct clf__weight *weight, const float *bias, const char *what);
void clf__linear_free(struct clf__linear *linear);

/* residual.buffer may be NULL; residual may be y. */
clf_status clf__linear_forward(struct clf__tensor y, /* (N, outputs) */
                               struct clf__tensor x, /* (N, inputs) */
                               const struct clf__linear *linear, enum clf__activation activation,
                               struct clf__tensor residual); /* (N, outputs) */

/* A device buffer of count floats: biases, norms' gains, tables. */
clf_status clf__buffer_from_host(struct clf__buffer **out, struct clf_device *device, const float *values,
                                 size_t count, const char *what);

#endif
