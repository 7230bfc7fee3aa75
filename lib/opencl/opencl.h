/* Calling OpenCL: every call that can fail passes through these macros, so that tests can make it fail. */
#ifndef CLF_OPENCL_OPENCL_H
#define CLF_OPENCL_OPENCL_H

/* clCreateCommandQueue instead of its successor in OpenCL 2.0, which drivers of 1.2 do not have. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/status.h"

/* Counts a call; true if a test wants this call to fail. */
int clf__opencl_fails(void);

/* The error code of such a call: the code that drivers return for the most reasons. */
#define CLF__TESTED_ERROR CL_OUT_OF_HOST_MEMORY

/* A call that returns its error code: cl_int error = CLF__CL(clFinish(queue)). */
#define CLF__CL(call) (clf__opencl_fails() ? CLF__TESTED_ERROR : (call))

/* A call that returns an object and its error through a pointer:
 * cl_mem memory = CLF__CL_CREATE(&error, clCreateBuffer(..., &error)). */
#define CLF__CL_CREATE(error, call) (clf__opencl_fails() ? (*(error) = CLF__TESTED_ERROR, NULL) : (call))

/* "CL_OUT_OF_RESOURCES", or "an unknown error". */
const char *clf__opencl_error_name(cl_int error);

/* CLF_OK for CL_SUCCESS. Otherwise fails with "<operation>: CL_NAME (-n)" and advice, if the code has a
 * known cause. */
clf_status clf__opencl_check(cl_int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
