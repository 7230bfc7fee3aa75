/* The cost of GEMMs, for every backend. */
#include "math/gemm/backend.h"

struct clf__cost clf__weight_cost(int rows, const struct clf__weight *weight,
                                  const struct clf__epilogue *epilogue)
{
    double m = rows, n = weight->outputs, k = weight->inputs;
    double weight_bytes = n * k * (double)clf__packing_of(weight->precision)->bytes;
    double values = m * k + m * n; /* fp32 values read and written */
    if (epilogue) {
        values += (epilogue->bias ? n : 0.0) + (epilogue->residual.buffer ? m * n : 0.0);
    }
    return (struct clf__cost){.operations = 2.0 * m * n * k,
                              .bytes = weight_bytes + values * sizeof(float),
                              .precision = weight->precision};
}

struct clf__cost clf__batched_cost(const struct clf__batched_shape *shape)
{
    double batches = shape->batches, m = shape->m, n = shape->n, k = shape->k;
    return (struct clf__cost){.operations = 2.0 * batches * m * n * k,
                              .bytes = batches * (m * k + k * n + m * n) * sizeof(float)};
}

struct clf__cost clf__gradient_cost(int rows, const struct clf__weight *weight)
{
    double m = rows, n = weight->outputs, k = weight->inputs;
    return (struct clf__cost){.operations = 2.0 * m * n * k,
                              .bytes = (m * n + m * k + 2.0 * n * k) * sizeof(float),
                              .precision = clf__gemm_precision(weight)};
}
