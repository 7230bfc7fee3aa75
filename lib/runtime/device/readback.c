#include "runtime/device/readback.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

struct clf__readback {
    struct clf_device *device;
    const char *what;
    size_t bytes;
    cl_mem pinned;  /* NULL in a dry run */
    void *host;     /* the mapped memory of `pinned`, or, in a dry run, zeros */
    cl_event event; /* the read in progress, or NULL */
    double mark;    /* the work enqueued before its end */
};

static clf_status map(struct clf__readback *readback)
{
    const struct clf_device *device = readback->device;
    cl_int error = CL_SUCCESS;
    readback->pinned =
        CLF__CL_CREATE(&error, clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                              readback->bytes, NULL, &error));
    CLF__TRY(clf__opencl_check(error, "allocating %zu bytes of host memory for %s on device %s",
                               readback->bytes, readback->what, device->label));
    readback->host = CLF__CL_CREATE(&error, clEnqueueMapBuffer(device->queue, readback->pinned, CL_TRUE,
                                                               CL_MAP_READ | CL_MAP_WRITE, 0, readback->bytes,
                                                               0, NULL, NULL, &error));
    return clf__opencl_check(error, "mapping %zu bytes of host memory for %s on device %s", readback->bytes,
                             readback->what, device->label);
}

clf_status clf__readback_create(struct clf__readback **out, struct clf_device *device, size_t bytes,
                                const char *what)
{
    struct clf__readback *readback;
    *out = NULL;
    CLF__TRY(clf__allocate(&readback, 1, sizeof *readback));
    readback->device = device;
    readback->what = what;
    readback->bytes = bytes;
    clf_status status = device->is_dry_run ? clf__allocate(&readback->host, bytes, 1) : map(readback);
    if (status != CLF_OK) {
        clf__readback_free(readback);
        return status;
    }
    *out = readback;
    return CLF_OK;
}

void clf__readback_forget(struct clf__readback *readback)
{
    if (readback->event != NULL) {
        clReleaseEvent(readback->event);
        readback->event = NULL;
    }
}

void clf__readback_free(struct clf__readback *readback)
{
    if (readback == NULL) {
        return;
    }
    if (readback->event != NULL) {
        clf__device_settle(readback->device);
        clf__readback_forget(readback);
    }
    if (readback->pinned == NULL) {
        clf__free(readback->host);
    } else {
        if (readback->host != NULL) {
            clEnqueueUnmapMemObject(readback->device->queue, readback->pinned, readback->host, 0, NULL, NULL);
        }
        clReleaseMemObject(readback->pinned);
    }
    clf__free(readback);
}

clf_status clf__readback_start(struct clf__readback *readback, const struct clf__buffer *buffer,
                               size_t offset, size_t bytes)
{
    struct clf_device *device = readback->device;
    assert(bytes <= readback->bytes && readback->event == NULL);
    if (bytes == 0 || device->is_dry_run) {
        return CLF_OK;
    }
    clf_status status = clf__buffer_read_later(&readback->event, buffer, offset, bytes, readback->host);
    readback->mark = clf__device_mark(device);
    if (status == CLF_OK && (device->caps.without & CLF__WITHOUT_FLUSH) == 0) {
        status = clf__device_flush(device);
    }
    return status;
}

clf_status clf__readback_wait(const void **out, struct clf__readback *readback)
{
    struct clf_device *device = readback->device;
    *out = readback->host;
    if (readback->event == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__opencl_check(CLF__CL(clWaitForEvents(1, &readback->event)), "waiting for %s of device %s",
                               readback->what, device->label));
    clf__readback_forget(readback);
    clf__device_reached(device, readback->mark);
    return CLF_OK;
}
