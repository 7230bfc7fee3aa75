/* A pool of consecutive buffers in a few large chunks: clearing them or mapping them to the host takes few
 * operations. */
#ifndef CLF_DEVICE_POOL_H
#define CLF_DEVICE_POOL_H

#include "runtime/device/buffer.h"

/* Initialise as {.device = ...}. */
struct clf__pool {
    struct clf_device *device;
    struct clf__slab **chunks;    /* (chunk_count) */
    struct clf__buffer **buffers; /* (buffer_count), in order; owned by the caller of clf__pool_reserve() */
    int chunk_count, buffer_count;
};

/* Adds a buffer; clf__pool_allocate() allocates its memory. */
clf_status clf__pool_reserve(struct clf__buffer **out, struct clf__pool *pool, size_t bytes,
                             const char *what);
/* Allocates all reserved buffers and fills them with zeros. */
clf_status clf__pool_allocate(struct clf__pool *pool, const char *what);

/* Fills the whole pool with zeros. */
clf_status clf__pool_clear(const struct clf__pool *pool);

/* Returns the number of floats in all chunks, as passed by clf__pool_visit(). */
size_t clf__pool_floats(const struct clf__pool *pool);
size_t clf__pool_chunk_floats(const struct clf__pool *pool, int chunk);

/* Maps each chunk to the host and calls `visit` with its floats, which may be changed; padding between
 * buffers is zero and must stay zero. */
typedef clf_status clf__floats_visitor(const void *context, float *values, size_t count);
clf_status clf__pool_visit(const struct clf__pool *pool, clf__floats_visitor *visit, const void *context);

/* Returns the offset of a buffer in the concatenated floats of all chunks. */
size_t clf__pool_place(const struct clf__pool *pool, const struct clf__buffer *buffer);

/* A mapped range: floats of one chunk that the host accesses while the device uses other ranges. */
struct clf__mapped_range {
    int chunk;
    size_t first, count; /* range in the chunk, in floats */
    void *memory;        /* sub-buffer of the range; NULL: not mapped */
    float *values;
    void *event; /* an OpenCL event: the mapping is complete */
};

/* Enqueues the mapping of a range without waiting for it. The device must not use the floats until they
 * are unmapped. */
clf_status clf__pool_map_range(const struct clf__pool *pool, struct clf__mapped_range *range);
/* Sets *out to whether the mapping is complete and the host may access the floats. */
clf_status clf__pool_is_mapped(int *out, const struct clf__pool *pool, const struct clf__mapped_range *range);
/* Unmaps a range; later commands see the host's writes. Does nothing if the range is not mapped. */
clf_status clf__pool_unmap_range(const struct clf__pool *pool, struct clf__mapped_range *range);

/* Frees the pool. Its buffers stay valid; freeing the last buffer of a chunk frees the chunk. */
void clf__pool_free(struct clf__pool *pool);

#endif
