#include <limits.h>

#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"

const char *clf__activation_define(enum clf__activation kind)
{
    static const char *const defines[] = {"-DACTIVATION=0", "-DACTIVATION=1", "-DACTIVATION=2",
                                          "-DACTIVATION=3", "-DACTIVATION=4"};
    return (size_t)kind < sizeof defines / sizeof *defines ? defines[kind] : NULL;
}

clf_status clf__gemm_check_matrix(const char *what, struct clf__matrix matrix, size_t first, int rows,
                                  int columns)
{
    if (matrix.buffer == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM: the %s has no buffer", what);
    }
    if (matrix.stride < columns) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM: the %s has %d columns, more than its stride %d", what,
                         columns, matrix.stride);
    }
    if (matrix.offset > INT_MAX) {
        return clf__fail(CLF_UNSUPPORTED, "GEMM: the %s starts at element %zu; at most %d is supported", what,
                         matrix.offset, INT_MAX);
    }
    size_t end = matrix.offset + first + (size_t)(rows - 1) * (size_t)matrix.stride + (size_t)columns;
    size_t element_bytes = matrix.precision == CLF__PRECISION_FP32 ? sizeof(float) : 2;
    size_t held = clf__buffer_bytes(matrix.buffer) / element_bytes;
    if (end > held) {
        return clf__fail(CLF_BAD_ARGUMENT, "GEMM: the %s (%d, %d) ends at element %zu of a buffer of %zu",
                         what, rows, columns, end, held);
    }
    return CLF_OK;
}
