#include "runtime/opencl/opencl.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "runtime/opencl/testing.h"

static atomic_uint_fast64_t call_count;
static atomic_uint_fast64_t fail_at;

int clf__opencl_fails(void)
{
    uint64_t n = atomic_fetch_add(&call_count, 1) + 1;
    return n == atomic_load(&fail_at);
}

void clf__device_fail_at(uint64_t n)
{
    atomic_store(&fail_at, n);
    atomic_store(&call_count, 0);
}

uint64_t clf__device_call_count(void)
{
    return atomic_load(&call_count);
}

/* Every error code of OpenCL 3.0 that the calls of this library can return. */
#define ERROR_LIST(X)                                                                                        \
    X(CL_DEVICE_NOT_FOUND)                                                                                   \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                               \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                             \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                      \
    X(CL_OUT_OF_RESOURCES)                                                                                   \
    X(CL_OUT_OF_HOST_MEMORY)                                                                                 \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                                       \
    X(CL_MEM_COPY_OVERLAP)                                                                                   \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                              \
    X(CL_MAP_FAILURE)                                                                                        \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                                       \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                          \
    X(CL_COMPILE_PROGRAM_FAILURE)                                                                            \
    X(CL_LINKER_NOT_AVAILABLE)                                                                               \
    X(CL_LINK_PROGRAM_FAILURE)                                                                               \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)                                                                      \
    X(CL_INVALID_VALUE)                                                                                      \
    X(CL_INVALID_DEVICE_TYPE)                                                                                \
    X(CL_INVALID_PLATFORM)                                                                                   \
    X(CL_INVALID_DEVICE)                                                                                     \
    X(CL_INVALID_CONTEXT)                                                                                    \
    X(CL_INVALID_QUEUE_PROPERTIES)                                                                           \
    X(CL_INVALID_COMMAND_QUEUE)                                                                              \
    X(CL_INVALID_HOST_PTR)                                                                                   \
    X(CL_INVALID_MEM_OBJECT)                                                                                 \
    X(CL_INVALID_BINARY)                                                                                     \
    X(CL_INVALID_BUILD_OPTIONS)                                                                              \
    X(CL_INVALID_PROGRAM)                                                                                    \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                                                                         \
    X(CL_INVALID_KERNEL_NAME)                                                                                \
    X(CL_INVALID_KERNEL_DEFINITION)                                                                          \
    X(CL_INVALID_KERNEL)                                                                                     \
    X(CL_INVALID_ARG_INDEX)                                                                                  \
    X(CL_INVALID_ARG_VALUE)                                                                                  \
    X(CL_INVALID_ARG_SIZE)                                                                                   \
    X(CL_INVALID_KERNEL_ARGS)                                                                                \
    X(CL_INVALID_WORK_DIMENSION)                                                                             \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                            \
    X(CL_INVALID_WORK_ITEM_SIZE)                                                                             \
    X(CL_INVALID_GLOBAL_OFFSET)                                                                              \
    X(CL_INVALID_EVENT_WAIT_LIST)                                                                            \
    X(CL_INVALID_EVENT)                                                                                      \
    X(CL_INVALID_OPERATION)                                                                                  \
    X(CL_INVALID_BUFFER_SIZE)                                                                                \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                           \
    X(CL_INVALID_PROPERTY)                                                                                   \
    X(CL_INVALID_COMPILER_OPTIONS)                                                                           \
    X(CL_PLATFORM_NOT_FOUND_KHR)

enum { OUTSIDE_BUFFER = -9999 }; /* NVIDIA's code, returned by every call after an invalid access */

const char *clf__opencl_error_name(cl_int error)
{
    switch (error) {
#define ERROR_CASE(code)                                                                                     \
    case code:                                                                                               \
        return #code;
        ERROR_LIST(ERROR_CASE)
#undef ERROR_CASE
    case OUTSIDE_BUFFER:
        return "a kernel read or wrote outside its buffers";
    }
    return "an unknown error";
}

static clf_status status_of(cl_int error)
{
    /* CL_OUT_OF_HOST_MEMORY is not CLF_OUT_OF_MEMORY: drivers use it for many failures, and another device
     * may work. */
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE ? CLF_DEVICE_MEMORY : CLF_DEVICE;
}

static const char *advice_of(cl_int error)
{
    switch (error) {
    case CL_DEVICE_NOT_AVAILABLE:
        return "; the device is lost or in use; open it again, or choose another with `clformer devices`";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return "; the device is out of memory; use a smaller batch";
    case CL_OUT_OF_RESOURCES:
    case OUTSIDE_BUFFER:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        return "; the device is out of resources, or lost after a kernel failed; open it again, or choose "
               "another with `clformer devices`";
    default:
        return "";
    }
}

clf_status clf__opencl_check(cl_int error, const char *format, ...)
{
    if (error == CL_SUCCESS) {
        return CLF_OK;
    }
    char tried[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tried, sizeof tried, format, arguments);
    va_end(arguments);
    return clf__fail(status_of(error), "%s: %s (%d)%s", tried, clf__opencl_error_name(error), (int)error,
                     advice_of(error));
}
