#include "runtime/device/pool.h"

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"

static clf_status add_chunk(struct clf__pool *pool)
{
    struct clf__slab *chunk;
    CLF__TRY(clf__resize(&pool->chunks, (size_t)pool->chunk_count + 1, sizeof chunk));
    CLF__TRY(clf__allocate(&chunk, 1, sizeof *chunk));
    chunk->users = 1;
    pool->chunks[pool->chunk_count++] = chunk;
    return CLF_OK;
}

clf_status clf__pool_reserve(struct clf__buffer **out, struct clf__pool *pool, size_t bytes, const char *what)
{
    size_t limit = pool->device->caps.max_buffer_bytes;
    struct clf__buffer *buffer = NULL;
    if (pool->chunk_count == 0 || !clf__slab_has_room(pool->chunks[pool->chunk_count - 1], bytes, limit)) {
        CLF__TRY(add_chunk(pool)); /* a larger buffer fails when its chunk is allocated */
    }
    CLF__TRY(clf__resize(&pool->buffers, (size_t)pool->buffer_count + 1, sizeof buffer));
    CLF__TRY(clf__buffer_allocate(&buffer, pool->device, bytes, what));
    clf__slab_reserve(pool->chunks[pool->chunk_count - 1], buffer);
    pool->buffers[pool->buffer_count++] = buffer;
    *out = buffer;
    return CLF_OK;
}

clf_status clf__pool_allocate(struct clf__pool *pool, const char *what)
{
    for (int i = 0; i < pool->chunk_count; i++) {
        struct clf__slab *chunk = pool->chunks[i];
        size_t bytes = (chunk->used + sizeof(float) - 1) / sizeof(float) * sizeof(float); /* whole floats */
        CLF__TRY(clf__buffer_create_large(&chunk->whole, pool->device, bytes, what));
    }
    for (int i = 0; i < pool->buffer_count; i++) {
        CLF__TRY(clf__slab_cut(pool->buffers[i]));
    }
    return clf__pool_clear(pool);
}

clf_status clf__pool_clear(const struct clf__pool *pool)
{
    for (int i = 0; i < pool->chunk_count; i++) {
        struct clf__buffer *whole = pool->chunks[i]->whole;
        CLF__TRY(clf__buffer_fill(whole, 0, whole->bytes, 0.0f));
    }
    return CLF_OK;
}

size_t clf__pool_floats(const struct clf__pool *pool)
{
    size_t count = 0;
    for (int i = 0; i < pool->chunk_count; i++) {
        count += clf__pool_chunk_floats(pool, i);
    }
    return count;
}

size_t clf__pool_chunk_floats(const struct clf__pool *pool, int chunk)
{
    return pool->chunks[chunk]->whole->bytes / sizeof(float);
}

static clf_status map_and_visit(const struct clf__buffer *whole, clf__floats_visitor *visit,
                                const void *context)
{
    const struct clf_device *device = whole->device;
    cl_int error = CL_SUCCESS;
    float *values = CLF__CL_CREATE(&error, clEnqueueMapBuffer(device->queue, whole->memory, CL_TRUE,
                                                              CL_MAP_READ | CL_MAP_WRITE, 0, whole->bytes, 0,
                                                              NULL, NULL, &error));
    CLF__TRY(clf__opencl_check(error, "mapping %s (%zu bytes) on device %s", whole->what, whole->bytes,
                               device->label));
    clf_status status = visit(context, values, whole->bytes / sizeof *values);
    error = clEnqueueUnmapMemObject(device->queue, whole->memory, values, 0, NULL, NULL);
    return status != CLF_OK ? status
                            : clf__opencl_check(error, "unmapping %s (%zu bytes) on device %s", whole->what,
                                                whole->bytes, device->label);
}

clf_status clf__pool_visit(const struct clf__pool *pool, clf__floats_visitor *visit, const void *context)
{
    for (int i = 0; i < pool->chunk_count; i++) {
        CLF__TRY(map_and_visit(pool->chunks[i]->whole, visit, context));
    }
    return CLF_OK;
}

size_t clf__pool_place(const struct clf__pool *pool, const struct clf__buffer *buffer)
{
    size_t place = buffer->first / sizeof(float);
    for (int i = 0; pool->chunks[i] != buffer->slab; i++) {
        place += clf__pool_chunk_floats(pool, i);
    }
    return place;
}

/* Maps a sub-buffer for each range, because kernels must not write to a mapped buffer (OpenCL 1.2, 5.4.3). */
clf_status clf__pool_map_range(const struct clf__pool *pool, struct clf__mapped_range *range)
{
    const struct clf__buffer *whole = pool->chunks[range->chunk]->whole;
    const struct clf_device *device = whole->device;
    const cl_buffer_region region = {range->first * sizeof(float), range->count * sizeof(float)};
    cl_event event = NULL;
    cl_int error = CL_SUCCESS;
    range->memory = CLF__CL_CREATE(&error, clCreateSubBuffer(whole->memory, CL_MEM_READ_WRITE,
                                                             CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
    if (error == CL_SUCCESS) {
        range->values = CLF__CL_CREATE(&error, clEnqueueMapBuffer(device->queue, range->memory, CL_FALSE,
                                                                  CL_MAP_READ | CL_MAP_WRITE, 0, region.size,
                                                                  0, NULL, &event, &error));
        range->event = event;
    }
    CLF__TRY(clf__opencl_check(error, "mapping %zu bytes of %s on device %s", region.size, whole->what,
                               device->label));
    return clf__device_flush(pool->device);
}

clf_status clf__pool_is_mapped(int *out, const struct clf__pool *pool, const struct clf__mapped_range *range)
{
    const struct clf_device *device = pool->device;
    cl_int state = CL_COMPLETE;
    cl_int error =
        CLF__CL(clGetEventInfo(range->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    *out = error == CL_SUCCESS && state == CL_COMPLETE;
    error = error == CL_SUCCESS && state < 0 ? state : error;
    if (*out) { /* the status query alone does not make the data visible to the host */
        cl_event event = range->event;
        error = CLF__CL(clWaitForEvents(1, &event));
    }
    return clf__opencl_check(error, "waiting for gradients on device %s", device->label);
}

clf_status clf__pool_unmap_range(const struct clf__pool *pool, struct clf__mapped_range *range)
{
    const struct clf__buffer *whole = pool->chunks[range->chunk]->whole;
    cl_int error = CL_SUCCESS;
    if (range->values != NULL) {
        error = clEnqueueUnmapMemObject(whole->device->queue, range->memory, range->values, 0, NULL, NULL);
    }
    if (range->event != NULL) {
        clReleaseEvent(range->event);
    }
    if (range->memory != NULL) {
        clReleaseMemObject(range->memory);
    }
    range->memory = NULL;
    range->values = NULL;
    range->event = NULL;
    return clf__opencl_check(error, "unmapping %s on device %s", whole->what, whole->device->label);
}

void clf__pool_free(struct clf__pool *pool)
{
    for (int i = 0; i < pool->chunk_count; i++) {
        clf__slab_leave(pool->chunks[i]);
    }
    clf__free(pool->chunks);
    clf__free(pool->buffers);
    *pool = (struct clf__pool){.device = pool->device};
}
