/* Calling OpenCL: every call that can fail goes through here, so that each can be made to fail on purpose. */
#ifndef CLF_OPENCL_OPENCL_H
#define CLF_OPENCL_OPENCL_H

/* clCreateCommandQueue and not its successor of OpenCL 2.0: a driver of 1.2 has no entry for that one. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/status.h"

/* Counts a call; true when it is the one that a test wants to fail. */
int clf__opencl_fails(void);

/* What such a call gives: the code that drivers give for the most reasons. */
#define CLF__TESTED_ERROR CL_OUT_OF_HOST_MEMORY

/* A call that returns its error code: cl_int error = CLF__CL(clFinish(queue)). */
#define CLF__CL(call) (clf__opencl_fails() ? CLF__TESTED_ERROR : (call))

/* A call that returns an object and its error through a pointer:
 * cl_mem memory = CLF__CL_CREATE(&error, clCreateBuffer(..., &error)). */
#define CLF__CL_CREATE(error, call) (clf__opencl_fails() ? (*(error) = CLF__TESTED_ERROR, NULL) : (call))

/* "CL_OUT_OF_RESOURCES", or "an error unknown to clformer". */
const char *clf__opencl_error_name(cl_int error);

/* CLF_OK for CL_SUCCESS. Else it fails with "<what was tried>: CL_NAME (-n)" and what the code means for the
 * user where that is known. */
clf_status clf__opencl_check(cl_int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
