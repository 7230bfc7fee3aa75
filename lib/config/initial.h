/* How parameters begin: the distributions that the published systems draw from. */
#ifndef CLF_CONFIG_INITIAL_H
#define CLF_CONFIG_INITIAL_H

#include "config/config.h"

/* What a parameter is to its layer: it decides how the parameter begins and whether it decays. */
enum clf__role {
    CLF__EMBEDDING,
    CLF__MATRIX,
    CLF__QUERY_OR_KEY,
    CLF__VALUE_OR_OUTPUT,
    CLF__RELATIVE_BIAS,
    CLF__BIAS,
    CLF__GAIN,
    CLF__SHIFT,
    CLF__SINUSOIDS /* positions that are stored, and never trained */
};

/* The values that a parameter has before training. */
enum clf__initial_kind {
    CLF__INITIAL_CONSTANT, /* `size` everywhere */
    CLF__INITIAL_NORMAL,   /* of mean 0 and standard deviation `size` */
    CLF__INITIAL_UNIFORM,  /* in [-size, size) */
    CLF__INITIAL_SINUSOIDS /* halves, by the last one (ops/positions.h) */
};
struct clf__initial {
    enum clf__initial_kind kind;
    float size;
    int zero_row; /* a row that is zeros all the same: the pad token's; -1: none */
};

/* What it depends on. */
struct clf__shape {
    int rows, columns;
    int inputs; /* of the product that the parameter belongs to */
    int width;  /* of a head, in attention */
};

struct clf__initial clf__initial_constant(float value);
struct clf__initial clf__initial_normal(double deviation);
/* Uniform by inputs: what PyTorch gives a linear layer, weight and bias, that nobody initialises. */
struct clf__initial clf__initial_by_inputs(const struct clf__shape *shape);
/* Embeddings and relative biases, which are looked up. */
int clf__role_is_table(enum clf__role role);

/* As the paper's code (tensor2tensor): Xavier, biases of zero, tables by 1 / sqrt(D). */
struct clf__initial clf__initial_paper(const struct clf__config *config, enum clf__role role,
                                       const struct clf__shape *shape);
/* Xavier, biases as PyTorch leaves them: the systems that call xavier_uniform_ for every matrix. */
struct clf__initial clf__initial_pytorch(const struct clf__config *config, enum clf__role role,
                                         const struct clf__shape *shape);

#endif
