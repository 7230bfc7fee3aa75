/* Uses an OpenCL context and queue of the calling program. */
#ifndef CLF_OPEN_EXTERNAL_H
#define CLF_OPEN_EXTERNAL_H

#include "runtime/opencl/opencl.h"

struct clf__external {
    cl_context context;
    cl_command_queue queue; /* NULL: the library creates one in the context */
};

/* Finds the only device of the context, and checks that the queue is an in-order queue on it.
 *
 * is_profiled: the queue must have profiling enabled. Returns CLF_BAD_ARGUMENT for an unsuitable context or
 * queue, CLF_DEVICE if OpenCL fails. */
clf_status clf__external_device(cl_device_id *out, const struct clf__external *external, int is_profiled);

#endif
