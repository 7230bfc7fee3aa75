#include "runtime/device/buffer.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/device/lock.h"
#include "runtime/device/profile.h"
#include "runtime/device/queue.h"

/* Reports a buffer that does not fit. error: the driver's error code, or CL_SUCCESS if the driver was not
 * called. */
static clf_status too_large(const struct clf_device *device, size_t bytes, const char *what, int is_weight,
                            cl_int error)
{
    const char *advice =
        is_weight ? "store weights in fewer bytes (--precision fp16 or int8)" : "use smaller batches";
    return clf__fail(CLF_DEVICE_MEMORY,
                     "%s: needs %zu bytes on device %s (in bytes: largest buffer %" PRIu64 ", memory %" PRIu64
                     ", free at the start %" PRIu64 ", in use %" PRIu64
                     ")%s%s; %s, or use a device with more memory",
                     what, bytes, device->label, device->caps.max_buffer_bytes, device->caps.memory_bytes,
                     device->caps.usable_bytes, device->used_bytes, error == CL_SUCCESS ? "" : ": ",
                     error == CL_SUCCESS ? "" : clf__opencl_error_name(error), advice);
}

uint64_t clf__device_free_bytes(struct clf_device *device)
{
    CLF__LOCK_DEVICE(device);
    uint64_t memory = device->caps.usable_bytes;
    return device->used_bytes < memory ? memory - device->used_bytes : 0;
}

clf_status clf__buffer_allocate(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                const char *what)
{
    struct clf__buffer *buffer = NULL;
    CLF__TRY(clf__allocate(&buffer, 1, sizeof *buffer + strlen(what) + 1));
    buffer->device = device;
    buffer->bytes = bytes;
    buffer->number = ++device->last_buffer;
    strcpy(buffer->what, what);
    *out = buffer;
    return CLF_OK;
}

clf_status clf__buffer_create(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                              const char *what)
{
    return clf__buffer_create_for(out, device, bytes, what, 0);
}

clf_status clf__buffer_create_for(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                  const char *what, int is_weight)
{
    /* Many drivers allocate at first use, so requests that can never succeed are refused here. */
    if (bytes > device->caps.max_buffer_bytes || bytes > clf__device_free_bytes(device)) {
        return too_large(device, bytes, what, is_weight, CL_SUCCESS);
    }
    struct clf__buffer *buffer = NULL;
    CLF__TRY(clf__buffer_allocate(&buffer, device, bytes, what));
    cl_int error = CL_SUCCESS;
    if (!device->is_dry_run) {
        buffer->memory =
            CLF__CL_CREATE(&error, clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &error));
    }
    if (error != CL_SUCCESS) {
        clf__free(buffer);
        if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
            error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE) {
            return too_large(device, bytes, what, is_weight, error);
        }
        return clf__opencl_check(error, "creating %s (%zu bytes) on device %s", what, bytes, device->label);
    }
    device->used_bytes += bytes;
    device->peak_bytes = device->used_bytes > device->peak_bytes ? device->used_bytes : device->peak_bytes;
    *out = buffer;
    return CLF_OK;
}

void clf__slab_leave(struct clf__slab *slab)
{
    if (--slab->users > 0) {
        return;
    }
    if (slab->whole != NULL && slab->whole->device->slab == slab) {
        slab->whole->device->slab = NULL;
    }
    clf__buffer_free(slab->whole);
    clf__free(slab);
}

void clf__buffer_free(struct clf__buffer *buffer)
{
    if (buffer == NULL) {
        return;
    }
    if (buffer->memory) {
        clReleaseMemObject(buffer->memory);
    }
    if (buffer->slab) {
        clf__slab_leave(buffer->slab);
    } else {
        buffer->device->used_bytes -= buffer->bytes;
    }
    clf__free(buffer);
}

size_t clf__buffer_bytes(const struct clf__buffer *buffer)
{
    return buffer->bytes;
}

const struct clf__buffer *clf__buffer_whole(const struct clf__buffer *buffer, size_t *first)
{
    *first = buffer->slab != NULL ? buffer->first : 0;
    return buffer->slab != NULL ? buffer->slab->whole : buffer;
}

struct clf_device *clf__buffer_device(const struct clf__buffer *buffer)
{
    return buffer->device;
}

/* Checks the result of a copy and adds its time to the profile. moved: bytes read and written. */
static clf_status done(cl_int error, cl_event event, const struct clf__buffer *buffer, const char *verb,
                       size_t offset, size_t bytes, size_t moved)
{
    CLF__TRY(clf__opencl_check(error, "cannot %s %zu bytes at %zu of %s (%zu bytes) on device %s", verb,
                               bytes, offset, buffer->what, buffer->bytes, buffer->device->label));
    return clf__profile_add(buffer->device, verb, (struct clf__cost){.bytes = (double)moved}, NULL, event);
}

static clf_status write_bytes(struct clf__buffer *buffer, size_t offset, size_t bytes, const void *source,
                              cl_bool waits)
{
    if (bytes == 0 || buffer->device->is_dry_run) {
        return CLF_OK;
    }
    cl_event event = NULL;
    cl_int error =
        CLF__CL(clEnqueueWriteBuffer(buffer->device->queue, buffer->memory, waits, offset, bytes, source, 0,
                                     NULL, clf__profile_slot(buffer->device->profile, &event)));
    if (waits) {
        clf__device_waited(buffer->device);
    }
    return done(error, event, buffer, "write", offset, bytes, bytes);
}

clf_status clf__buffer_write(struct clf__buffer *buffer, size_t offset, size_t bytes, const void *source)
{
    return write_bytes(buffer, offset, bytes, source, CL_TRUE);
}

clf_status clf__buffer_scatter(struct clf__buffer *buffer, size_t offset, size_t pitch, int count,
                               const float *source)
{
    if (count == 0 || buffer->device->is_dry_run) {
        return CLF_OK;
    }
    const size_t to[] = {offset % pitch, offset / pitch, 0}, from[] = {0, 0, 0};
    const size_t region[] = {sizeof *source, (size_t)count, 1};
    cl_event event = NULL;
    cl_int error = CLF__CL(clEnqueueWriteBufferRect(buffer->device->queue, buffer->memory, CL_TRUE, to, from,
                                                    region, pitch, 0, sizeof *source, 0, source, 0, NULL,
                                                    clf__profile_slot(buffer->device->profile, &event)));
    size_t bytes = (size_t)count * sizeof *source;
    return done(error, event, buffer, "write", offset, bytes, bytes);
}

clf_status clf__buffer_write_later(struct clf__buffer *buffer, size_t offset, size_t bytes,
                                   const void *source)
{
    return write_bytes(buffer, offset, bytes, source, CL_FALSE);
}

clf_status clf__buffer_read(const struct clf__buffer *buffer, size_t offset, size_t bytes, void *target)
{
    if (bytes == 0) {
        return CLF_OK;
    }
    if (buffer->device->is_dry_run) {
        memset(target, 0, bytes);
        return CLF_OK;
    }
    cl_event event = NULL;
    cl_int error =
        CLF__CL(clEnqueueReadBuffer(buffer->device->queue, buffer->memory, CL_TRUE, offset, bytes, target, 0,
                                    NULL, clf__profile_slot(buffer->device->profile, &event)));
    clf__device_waited(buffer->device);
    return done(error, event, buffer, "read", offset, bytes, bytes);
}

clf_status clf__buffer_read_later(cl_event *out, const struct clf__buffer *buffer, size_t offset,
                                  size_t bytes, void *target)
{
    struct clf_device *device = buffer->device;
    int is_timed = clf__profile_slot(device->profile, out) != NULL;
    *out = NULL;
    cl_int error = CLF__CL(
        clEnqueueReadBuffer(device->queue, buffer->memory, CL_FALSE, offset, bytes, target, 0, NULL, out));
    is_timed = is_timed && error == CL_SUCCESS;
    if (is_timed) {
        clRetainEvent(*out); /* the profile releases its reference */
    }
    return done(error, is_timed ? *out : NULL, buffer, "read", offset, bytes, bytes);
}

clf_status clf__buffer_copy(struct clf__buffer *target, size_t target_offset,
                            const struct clf__buffer *source, size_t source_offset, size_t bytes)
{
    if (bytes == 0 || target->device->is_dry_run) {
        return CLF_OK;
    }
    cl_event event = NULL;
    cl_int error = CLF__CL(clEnqueueCopyBuffer(target->device->queue, source->memory, target->memory,
                                               source_offset, target_offset, bytes, 0, NULL,
                                               clf__profile_slot(target->device->profile, &event)));
    return done(error, event, target, "copy", target_offset, bytes, 2 * bytes);
}

clf_status clf__buffer_fill(struct clf__buffer *buffer, size_t offset, size_t bytes, float value)
{
    if (bytes == 0 || buffer->device->is_dry_run) {
        return CLF_OK;
    }
    cl_event event = NULL;
    cl_int error =
        CLF__CL(clEnqueueFillBuffer(buffer->device->queue, buffer->memory, &value, sizeof value, offset,
                                    bytes, 0, NULL, clf__profile_slot(buffer->device->profile, &event)));
    return done(error, event, buffer, "fill", offset, bytes, bytes);
}
