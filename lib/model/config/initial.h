/* Initialisation of parameters, with the distributions of the published systems. */
#ifndef CLF_CONFIG_INITIAL_H
#define CLF_CONFIG_INITIAL_H

#include "model/config/types.h"

/* The role of a parameter in its layer determines initialisation and weight decay. */
enum clf__role {
    CLF__EMBEDDING,
    CLF__MATRIX,
    CLF__QUERY_OR_KEY,
    CLF__VALUE_OR_OUTPUT,
    CLF__RELATIVE_BIAS,
    CLF__BIAS,
    CLF__GAIN,
    CLF__SHIFT,
    CLF__SINUSOIDS /* stored sinusoids, which are not trained */
};

/* Kinds of initial values. */
enum clf__initial_kind {
    CLF__INITIAL_CONSTANT, /* the constant `size` */
    CLF__INITIAL_NORMAL,   /* mean 0, standard deviation `size` */
    CLF__INITIAL_UNIFORM,  /* in [-size, size) */
    CLF__INITIAL_SINUSOIDS /* halves, with frequencies by the last column (math/ops/positions.h) */
};
struct clf__initial {
    enum clf__initial_kind kind;
    float size;
    int zero_row; /* row set to zero, for the pad token; -1: none */
};

/* The shape that determines initial values. */
struct clf__shape {
    int rows, columns;
    int inputs; /* input width of the matrix multiplication */
    int width;  /* width of an attention head */
};

struct clf__initial clf__initial_constant(float value);
struct clf__initial clf__initial_normal(double deviation);
/* Uniform distribution by input width: PyTorch's default for weight and bias of a linear layer. */
struct clf__initial clf__initial_by_inputs(const struct clf__shape *shape);
/* Returns whether a role is a lookup table: embeddings and relative biases. */
int clf__role_is_table(enum clf__role role);

/* Initialisation of the paper's code (tensor2tensor): Xavier, zero biases, tables scaled by 1 / sqrt(D). */
struct clf__initial clf__initial_paper(const struct clf__config *config, enum clf__role role,
                                       const struct clf__shape *shape);
/* Xavier with PyTorch's default biases, for systems that call xavier_uniform_ for every matrix. */
struct clf__initial clf__initial_pytorch(const struct clf__config *config, enum clf__role role,
                                         const struct clf__shape *shape);

#endif
