#include "open/external.h"

static clf_status find_device(cl_device_id *out, cl_context context)
{
    cl_uint count = 0;
    cl_int error = CLF__CL(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
    CLF__TRY(clf__opencl_check(error, "reading the devices of a context"));
    if (count != 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "context: has %u devices; create it with a single device",
                         (unsigned)count);
    }
    error = CLF__CL(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof *out, out, NULL));
    return clf__opencl_check(error, "reading the device of a context");
}

static clf_status check_queue(const struct clf__external *external, cl_device_id device, int is_profiled)
{
    cl_command_queue queue = external->queue;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    cl_int error = CLF__CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL));
    CLF__TRY(clf__opencl_check(error, "reading the context of a queue"));
    error = CLF__CL(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL));
    CLF__TRY(clf__opencl_check(error, "reading the device of a queue"));
    error = CLF__CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    CLF__TRY(clf__opencl_check(error, "reading the properties of a queue"));
    if (context != external->context || id != device) {
        return clf__fail(CLF_BAD_ARGUMENT, "queue: belongs to another %s; create it in the given context",
                         context != external->context ? "context" : "device");
    }
    if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "queue: executes out of order; create an in-order queue");
    }
    if (is_profiled && (properties & CL_QUEUE_PROFILING_ENABLE) == 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "queue: does not record times, which options.profile requires; "
                                           "create it with CL_QUEUE_PROFILING_ENABLE");
    }
    return CLF_OK;
}

clf_status clf__external_device(cl_device_id *out, const struct clf__external *external, int is_profiled)
{
    CLF__TRY(find_device(out, external->context));
    return external->queue != NULL ? check_queue(external, *out, is_profiled) : CLF_OK;
}
