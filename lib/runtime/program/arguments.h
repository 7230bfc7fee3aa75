/* Sets kernel arguments that differ from the last launch. */
#ifndef CLF_PROGRAM_ARGUMENTS_H
#define CLF_PROGRAM_ARGUMENTS_H

#include "runtime/opencl/opencl.h"
#include "runtime/program/launch.h"

/* The current value of a kernel argument. */
struct clf__argument_value {
    int is_set;
    enum clf__argument_kind kind;
    uint64_t number; /* a buffer's number, the bits of a number, or the bytes of local memory */
    void *copy;      /* copy of a struct, owned */
    size_t bytes;    /* size of the copy */
};

/* Sets argument `index` of a kernel unless it equals `value`, its last value; updates `value`. *error
 * receives the driver's error code. Fails only if memory is exhausted. */
clf_status clf__argument_set(cl_int *error, cl_kernel kernel, cl_uint index,
                             struct clf__argument_value *value, const struct clf__argument *argument);

/* Frees `count` values; NULL is ignored. */
void clf__argument_values_free(struct clf__argument_value *values, cl_uint count);

#endif
