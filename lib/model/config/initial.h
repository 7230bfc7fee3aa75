/* Initialisation of parameters as in published implementations. */
#ifndef CLF_CONFIG_INITIAL_H
#define CLF_CONFIG_INITIAL_H

#include "model/config/types.h"

/* The role of a parameter in a layer; determines its initial values and weight decay. */
enum clf__role {
    CLF__EMBEDDING,
    CLF__MATRIX,
    CLF__QUERY_OR_KEY,
    CLF__VALUE_OR_OUTPUT,
    CLF__RELATIVE_BIAS,
    CLF__BIAS,
    CLF__GAIN,
    CLF__SHIFT,
    CLF__SINUSOIDS /* stored sinusoids; not trained */
};

/* Distributions of initial values. */
enum clf__initial_kind {
    CLF__INITIAL_CONSTANT, /* `size` */
    CLF__INITIAL_NORMAL,   /* mean 0, standard deviation `size` */
    CLF__INITIAL_UNIFORM,  /* in [-size, size) */
    CLF__INITIAL_SINUSOIDS /* sines and cosines, concatenated (math/ops/positions.h) */
};
struct clf__initial {
    enum clf__initial_kind kind;
    float size;
    int zero_row; /* a row set to zero, for the pad token; -1: none */
};

/* The sizes that determine initial values. */
struct clf__shape {
    int rows, columns;
    int inputs; /* input width of the matrix multiplication */
    int width;  /* width of an attention head */
};

struct clf__initial clf__initial_constant(float value);
struct clf__initial clf__initial_normal(double deviation);
/* Uniform distribution, with a range that depends on the input width: PyTorch's default for weights and
 * biases of linear layers. */
struct clf__initial clf__initial_by_inputs(const struct clf__shape *shape);
/* Returns 1 for lookup tables: embeddings and relative biases. */
int clf__role_is_table(enum clf__role role);

/* Initialisation in the paper's code (tensor2tensor): Xavier, zero biases, tables scaled by 1 / sqrt(D). */
struct clf__initial clf__initial_paper(const struct clf__config *config, enum clf__role role,
                                       const struct clf__shape *shape);
/* Xavier with PyTorch's default biases, for implementations that call xavier_uniform_ on every matrix. */
struct clf__initial clf__initial_pytorch(const struct clf__config *config, enum clf__role role,
                                         const struct clf__shape *shape);

#endif
