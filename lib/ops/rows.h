/* Launching kernels that work row by row. */
#ifndef CLF_OPS_ROWS_H
#define CLF_OPS_ROWS_H

#include "program/launch.h"
#include "tensor/tensor.h"

/* A kernel's parameters are, in this order: buffer, offset and stride of each view; rows and columns; the
 * extras. Its groups share the rows: group g takes rows g, g + groups, g +
 * 2 * groups ... */
struct clf__rows_launch {
    const char *program;
    const char *cpu_kernel, *gpu_kernel; /* NULL: that form has none */
    const char *defines;                 /* NULL: none */
    const struct clf__tensor
        *views; /* buffer NULL passes a null pointer; the first other one names the device */
    int view_count;
    int rows; /* none: nothing is launched */
    int columns;
    const struct clf__argument *extras;
    int extra_count;
    struct clf__cost cost;
    int has_long_rows; /* the GPU form's groups are of CLF__LONG_GROUP where the device has them, and local
                          memory is for as many; for programs without macros */
};
/* clang-format off */
/* Its members: the kernels of both forms, the tensors and the arguments that an array holds. */
#define CLF__KERNELS(name) .cpu_kernel = name "_cpu", .gpu_kernel = name "_gpu"
#define CLF__VIEWS(array)  .views = (array), .view_count = sizeof(array) / sizeof *(array)
#define CLF__EXTRAS(array) .extras = (array), .extra_count = sizeof(array) / sizeof *(array)
/* clang-format on */

/* Of work on every element: operations an element, and the (rows, columns) matrices that are read or written.
 */
static inline struct clf__cost clf__rows_cost(int rows, int columns, double operations, double matrices)
{
    double elements = (double)rows * columns;
    return (struct clf__cost){.operations = operations * elements,
                              .bytes = matrices * elements * sizeof(float)};
}

clf_status clf__rows_launch(const struct clf__rows_launch *launch);

#endif
