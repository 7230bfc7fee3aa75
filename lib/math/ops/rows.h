/* Launches row-wise kernels. */
#ifndef CLF_OPS_ROWS_H
#define CLF_OPS_ROWS_H

#include "math/tensor/tensor.h"
#include "runtime/program/launch.h"

/* The parameters of a kernel are, in this order: buffer, offset and stride of each view; rows and columns;
 * the extra arguments. Group g computes rows g, g + groups, g + 2 * groups ... */
struct clf__rows_launch {
    const char *program;
    const char *cpu_kernel, *gpu_kernel; /* NULL: that variant does not exist */
    const char *defines;                 /* NULL: none */
    const struct clf__tensor
        *views; /* buffer NULL passes a null pointer; the first view with a buffer determines the device */
    int view_count;
    int rows; /* 0: nothing is launched */
    int columns;
    const struct clf__argument *extras;
    int extra_count;
    struct clf__cost cost;
    int has_long_rows; /* 1: groups of the GPU variant have CLF__LONG_GROUP work-items if the device supports
                        * it; only for programs without macros */
};
/* clang-format off */
/* Members of the struct: the kernels of both variants, the tensors and the arguments in an array. */
#define CLF__KERNELS(name) .cpu_kernel = name "_cpu", .gpu_kernel = name "_gpu"
#define CLF__VIEWS(array)  .views = (array), .view_count = sizeof(array) / sizeof *(array)
#define CLF__EXTRAS(array) .extras = (array), .extra_count = sizeof(array) / sizeof *(array)
/* clang-format on */

/* Returns the cost of elementwise work, from the operations per element and the number of (rows, columns)
 * matrices that are read or written. */
static inline struct clf__cost clf__rows_cost(int rows, int columns, double operations, double matrices)
{
    double elements = (double)rows * columns;
    return (struct clf__cost){.operations = operations * elements,
                              .bytes = matrices * elements * sizeof(float)};
}

clf_status clf__rows_launch(const struct clf__rows_launch *launch);

#endif
