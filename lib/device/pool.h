/* Consecutive buffers in as few chunks of memory as the device's largest buffer allows, so that they are
 * cleared, or mapped to the host, a chunk at a time. */
#ifndef CLF_DEVICE_POOL_H
#define CLF_DEVICE_POOL_H

#include "device/buffer.h"

/* Initialise as {.device = ...}. */
struct clf__pool {
    struct clf_device *device;
    struct clf__slab **chunks;    /* (chunk_count) */
    struct clf__buffer **buffers; /* (buffer_count), in order; owned by the caller of clf__pool_reserve() */
    int chunk_count, buffer_count;
};

/* Adds a buffer, whose memory is allocated by clf__pool_allocate(). */
clf_status clf__pool_reserve(struct clf__buffer **out, struct clf__pool *pool, size_t bytes,
                             const char *what);
/* All of it is zero. */
clf_status clf__pool_allocate(struct clf__pool *pool, const char *what);

/* Fills the whole pool with zeros again. */
clf_status clf__pool_clear(const struct clf__pool *pool);

/* The number of floats that clf__pool_visit() passes to its visitor, in all chunks together. */
size_t clf__pool_floats(const struct clf__pool *pool);
size_t clf__pool_chunk_floats(const struct clf__pool *pool, int chunk);

/* Maps each chunk to the host and calls `visit` with its floats, which may be changed; padding between
 * buffers is zero and must stay zero. */
typedef clf_status clf__floats_visitor(const void *context, float *values, size_t count);
clf_status clf__pool_visit(const struct clf__pool *pool, clf__floats_visitor *visit, const void *context);

/* The offset of a buffer among the floats of all chunks. */
size_t clf__pool_place(const struct clf__pool *pool, const struct clf__buffer *buffer);

/* A mapping: floats of one chunk that the host reads and writes while the device uses others. */
struct clf__mapped_range {
    int chunk;
    size_t first, count; /* range of floats in the chunk */
    void *memory;        /* sub-buffer of these floats, because kernels use others meanwhile; NULL: not
                          * mapped */
    float *values;
    void *event; /* an OpenCL event: the mapping is complete */
};

/* Enqueues the mapping after the commands enqueued so far, without waiting. The device must not use the
 * floats until they are unmapped. */
clf_status clf__pool_map_range(const struct clf__pool *pool, struct clf__mapped_range *range);
/* Finds whether the mapping is complete, so that the host may read and write the floats. */
clf_status clf__pool_is_mapped(int *out, const struct clf__pool *pool, const struct clf__mapped_range *range);
/* Unmaps the floats; commands enqueued from now on see the host's writes. Does nothing if they are not
 * mapped. */
clf_status clf__pool_unmap_range(const struct clf__pool *pool, struct clf__mapped_range *range);

/* The buffers stay valid; freeing the last buffer of a chunk frees the chunk. */
void clf__pool_free(struct clf__pool *pool);

#endif
