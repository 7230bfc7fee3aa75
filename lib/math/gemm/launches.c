/* GEMMs of many rows in several launches. */
#include "base/minmax.h"
#include "math/gemm/backend.h"
#include "math/gemm/layout.h"
#include "runtime/device/queue.h"

/* Returns how many of `rows` rows one launch multiplies, because drivers stop launches that take too long. */
static int count_rows(const struct clf__weight *weight, int rows)
{
    enum { LARGE_TILE = 128 };
    double operations = 2.0 * weight->inputs * weight->outputs;
    double most = clf__device_most_operations(weight->device) / operations;
    int group = most >= LARGE_TILE ? LARGE_TILE : most >= CLF__SKINNY_ROWS ? CLF__SKINNY_ROWS : 1;
    return most < rows ? clf__max_int((int)most / group * group, 1) : rows;
}

/* Returns the rows of a matrix from row `first`; a matrix without a buffer does not change. */
static struct clf__matrix rows_from(struct clf__matrix matrix, int first)
{
    matrix.offset += matrix.buffer != NULL ? (size_t)first * (size_t)matrix.stride : 0;
    return matrix;
}

clf_status clf__gemm_multiply(struct clf__matrix y, struct clf__matrix x, int rows,
                              const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    for (int first = 0, count; first < rows; first += count) {
        count = count_rows(weight, rows - first);
        struct clf__epilogue own = *epilogue;
        own.residual = rows_from(epilogue->residual, first);
        CLF__TRY(weight->backend->multiply(rows_from(y, first), rows_from(x, first), count, weight, &own));
    }
    return CLF_OK;
}
