/* The driver's compiler. */
#ifndef CLF_PROGRAM_COMPILE_H
#define CLF_PROGRAM_COMPILE_H

#include "base/status.h"
#include "opencl/opencl.h"

struct clf_device;
struct clf__program;

/* Compiles a program's source with its options, whatever the cache holds. CLF_BUILD when it does not compile;
 * the driver's log goes to the log. */
clf_status clf__program_compile(cl_program *out, struct clf_device *device,
                                const struct clf__program *program);

#endif
