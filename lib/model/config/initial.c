#include "model/config/initial.h"

#include <math.h>

struct clf__initial clf__initial_constant(float value)
{
    return (struct clf__initial){CLF__INITIAL_CONSTANT, value, -1};
}

struct clf__initial clf__initial_normal(double deviation)
{
    return (struct clf__initial){CLF__INITIAL_NORMAL, (float)deviation, -1};
}

static struct clf__initial uniform(double bound)
{
    return (struct clf__initial){CLF__INITIAL_UNIFORM, (float)bound, -1};
}

/* Xavier initialisation based on the number of rows and columns (Glorot & Bengio 2010). */
static struct clf__initial xavier(const struct clf__shape *shape)
{
    return uniform(sqrt(6.0 / ((double)shape->rows + shape->columns)));
}

struct clf__initial clf__initial_by_inputs(const struct clf__shape *shape)
{
    return uniform(1.0 / sqrt(shape->inputs));
}

int clf__role_is_table(enum clf__role role)
{
    return role == CLF__EMBEDDING || role == CLF__RELATIVE_BIAS;
}

struct clf__initial clf__initial_paper(const struct clf__config *config, enum clf__role role,
                                       const struct clf__shape *shape)
{
    if (role == CLF__BIAS) {
        return clf__initial_constant(0.0f);
    }
    return clf__role_is_table(role) ? clf__initial_normal(1.0 / sqrt(config->d_model)) : xavier(shape);
}

struct clf__initial clf__initial_pytorch(const struct clf__config *config, enum clf__role role,
                                         const struct clf__shape *shape)
{
    (void)config;
    return role == CLF__BIAS ? clf__initial_by_inputs(shape) : xavier(shape);
}
