/* The arguments of a kernel, set only if they differ from the last launch. */
#ifndef CLF_PROGRAM_ARGUMENTS_H
#define CLF_PROGRAM_ARGUMENTS_H

#include "opencl/opencl.h"
#include "program/launch.h"

/* The value that an argument of a kernel has. */
struct clf__argument_value {
    int is_set;
    enum clf__argument_kind kind;
    uint64_t number; /* a buffer's number, the bits of a number, or the bytes of local memory */
    void *copy;      /* of a struct, owned */
    size_t bytes;    /* of the copy */
};

/* Sets argument `index` of a kernel unless `value`, its last value, is the same; updates `value`. The
 * driver's error goes to *error. Fails only for lack of memory. */
clf_status clf__argument_set(cl_int *error, cl_kernel kernel, cl_uint index,
                             struct clf__argument_value *value, const struct clf__argument *argument);

/* Frees `count` values; NULL is ignored. */
void clf__argument_values_free(struct clf__argument_value *values, cl_uint count);

#endif
