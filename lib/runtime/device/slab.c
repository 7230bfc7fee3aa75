/* Stores many weights in one large buffer. On a CPU this enables large pages, for which single weights are
 * too small. On a GPU with matrix instructions one kernel can access the weights of many layers through few
 * arguments (math/layers/persistent.h). */
#include "base/log.h"
#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"

enum { CPU_SLAB_BYTES = 1 << 25, MOST_SLAB_BYTES = 1 << 28, LEAST_BYTES = 1 << 16, ALIGNMENT = 4096 };

/* Returns the size of a new slab; 0: use separate buffers. */
static size_t slab_bytes(const struct clf_device *device)
{
    if (device->info->kind == CLF_DEVICE_CPU) {
        return CPU_SLAB_BYTES;
    }
    if (!clf__caps_have_matrix(&device->caps)) {
        return 0;
    }
    uint64_t bytes = device->caps.memory_bytes / 64;
    return bytes < MOST_SLAB_BYTES ? (size_t)bytes / ALIGNMENT * ALIGNMENT : MOST_SLAB_BYTES;
}

/* Must be called before the first write, which allocates the pages. If the buffer cannot be mapped, it
 * keeps small pages; if it cannot be unmapped, it is unusable. */
static clf_status prefer_large_pages(struct clf__buffer *buffer)
{
    struct clf_device *device = buffer->device;
    cl_int error = CL_SUCCESS;
    if (device->is_dry_run) {
        return CLF_OK;
    }
    void *start = CLF__CL_CREATE(&error, clEnqueueMapBuffer(device->queue, buffer->memory, CL_TRUE,
                                                            CL_MAP_WRITE_INVALIDATE_REGION, 0, buffer->bytes,
                                                            0, NULL, NULL, &error));
    if (start == NULL) {
        return CLF_OK;
    }
    clf__prefer_large_pages(start, buffer->bytes);
    /* No test injects this failure: PoCL would keep the buffer mapped forever. */
    error = clEnqueueUnmapMemObject(device->queue, buffer->memory, start, 0, NULL, NULL);
    return clf__opencl_check(error, "unmapping %s (%zu bytes) on device %s", buffer->what, buffer->bytes,
                             device->label);
}

static clf_status create_large(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                               const char *what, int is_weight)
{
    CLF__TRY(clf__buffer_create_for(out, device, bytes, what, is_weight));
    int has_pages = device->info->kind == CLF_DEVICE_CPU && bytes >= LEAST_BYTES;
    clf_status status = has_pages ? prefer_large_pages(*out) : CLF_OK;
    if (status != CLF_OK) {
        clf__buffer_free(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__buffer_create_large(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                    const char *what)
{
    return create_large(out, device, bytes, what, 0);
}

static clf_status create_slab(struct clf__slab **out, struct clf_device *device)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->users = 1;
    clf_status status =
        clf__buffer_create_large(&(*out)->whole, device, slab_bytes(device), "memory for weights");
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
    }
    return status;
}

/* Returns the offset of the next buffer. */
static size_t next_in(const struct clf__slab *slab)
{
    return (slab->used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int clf__slab_has_room(const struct clf__slab *slab, size_t bytes, size_t limit)
{
    size_t first = next_in(slab);
    return first <= limit && bytes <= limit - first;
}

void clf__slab_reserve(struct clf__slab *slab, struct clf__buffer *buffer)
{
    buffer->slab = slab;
    buffer->first = next_in(slab);
    slab->used = buffer->first + buffer->bytes;
    slab->users++;
}

clf_status clf__slab_cut(struct clf__buffer *buffer)
{
    struct clf_device *device = buffer->device;
    cl_buffer_region region = {buffer->first, buffer->bytes};
    cl_int error = CL_SUCCESS;
    if (!device->is_dry_run) {
        buffer->memory =
            CLF__CL_CREATE(&error, clCreateSubBuffer(buffer->slab->whole->memory, CL_MEM_READ_WRITE,
                                                     CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
    }
    return clf__opencl_check(error, "creating %s (%zu bytes of a larger buffer) on device %s", buffer->what,
                             buffer->bytes, device->label);
}

static clf_status create_in(struct clf__slab *slab, struct clf__buffer **out, struct clf_device *device,
                            size_t bytes, const char *what)
{
    CLF__TRY(clf__buffer_allocate(out, device, bytes, what));
    clf__slab_reserve(slab, *out);
    clf_status status = clf__slab_cut(*out);
    if (status != CLF_OK) {
        clf__buffer_free(*out);
        *out = NULL;
    }
    return status;
}

static clf_status create_shared(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                const char *what, int has_room)
{
    struct clf__slab *slab = device->slab;
    if (has_room) {
        slab->users++;
    } else {
        CLF__TRY(create_slab(&slab, device)); /* the buffers in the last slab keep it alive */
    }
    clf_status status = create_in(slab, out, device, bytes, what);
    device->slab = slab;
    clf__slab_leave(slab);
    return status;
}

clf_status clf__buffer_create_streamed(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                       const char *what)
{
    size_t whole = slab_bytes(device), least = clf__caps_have_matrix(&device->caps) ? 1 : LEAST_BYTES;
    int is_shared = bytes >= least && bytes <= whole / 4 && device->caps.max_buffer_bytes >= whole &&
                    !device->has_no_slabs;
    int has_room =
        device->slab != NULL && clf__slab_has_room(device->slab, bytes, device->slab->whole->bytes);
    if (!is_shared || (!has_room && clf__device_free_bytes(device) / 4 < whole)) {
        return create_large(out, device, bytes, what, 1);
    }
    clf_status status = create_shared(out, device, bytes, what, has_room);
    if (status == CLF_DEVICE || status == CLF_DEVICE_MEMORY) {
        clf__log(CLF_LOG_DEBUG, "weights will be stored in separate buffers: %s", clf_last_error());
        device->has_no_slabs = 1;
        status = create_large(out, device, bytes, what, 1);
    }
    return status;
}
