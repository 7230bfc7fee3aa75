/* Wrappers for OpenCL calls: every call that can fail uses these macros, which let tests inject failures. */
#ifndef CLF_OPENCL_OPENCL_H
#define CLF_OPENCL_OPENCL_H

/* For clCreateCommandQueue(): OpenCL 1.2 drivers lack its successor from OpenCL 2.0. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/status.h"

/* Counts a call; returns nonzero if a test makes this call fail. */
int clf__opencl_fails(void);

/* The error code of an injected failure, which drivers return for many different reasons. */
#define CLF__TESTED_ERROR CL_OUT_OF_HOST_MEMORY

/* Wraps a call that returns an error code: cl_int error = CLF__CL(clFinish(queue)). */
#define CLF__CL(call) (clf__opencl_fails() ? CLF__TESTED_ERROR : (call))

/* Wraps a call that returns an object, and the error code through a pointer: cl_mem memory =
 * CLF__CL_CREATE(&error, clCreateBuffer(..., &error)). */
#define CLF__CL_CREATE(error, call) (clf__opencl_fails() ? (*(error) = CLF__TESTED_ERROR, NULL) : (call))

/* Returns the name of an error code, such as "CL_OUT_OF_RESOURCES", or "an unknown error". */
const char *clf__opencl_error_name(cl_int error);

/* Returns CLF_OK for CL_SUCCESS. Otherwise fails with "<operation>: CL_NAME (-n)", and with advice if the
 * code has a known cause. */
clf_status clf__opencl_check(cl_int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
