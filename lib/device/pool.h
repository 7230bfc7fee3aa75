/* Buffers that lie one after the other, in as few chunks of memory as the device's largest buffer allows: all
 * of them are cleared, or lent to the host, a chunk at a time. */
#ifndef CLF_DEVICE_POOL_H
#define CLF_DEVICE_POOL_H

#include "device/buffer.h"

/* Begins as {.device = ...}. */
struct clf__pool {
    struct clf_device *device;
    struct clf__slab **chunks;    /* (chunk_count) */
    struct clf__buffer **buffers; /* (buffer_count), in their order; owned by whoever reserved them */
    int chunk_count, buffer_count;
};

/* The next buffer, which has no memory until clf__pool_allocate() gives it to all of them. */
clf_status clf__pool_reserve(struct clf__buffer **out, struct clf__pool *pool, size_t bytes,
                             const char *what);
/* All of it is zero. */
clf_status clf__pool_allocate(struct clf__pool *pool, const char *what);

/* All of it becomes zero again. */
clf_status clf__pool_clear(const struct clf__pool *pool);

/* How many floats that visits of clf__pool_lend() are given, in all chunks together. */
size_t clf__pool_floats(const struct clf__pool *pool);
size_t clf__pool_chunk_floats(const struct clf__pool *pool, int chunk);

/* Calls `visit` with the floats of every chunk, where the host can read and write them meanwhile; what lies
 * between two buffers is zero and has to stay so. */
typedef clf_status clf__floats_visitor(const void *context, float *values, size_t count);
clf_status clf__pool_lend(const struct clf__pool *pool, clf__floats_visitor *visit, const void *context);

/* Where a buffer begins among the floats of all chunks. */
size_t clf__pool_place(const struct clf__pool *pool, const struct clf__buffer *buffer);

/* Floats of one chunk that the host reads and writes while the device works on others. */
struct clf__loan {
    int chunk;
    size_t first, count; /* floats of the chunk, from its start */
    void *memory;        /* of these floats alone, for kernels go on with others; NULL: not lent */
    float *values;
    void *event; /* an OpenCL event: they are there */
};

/* Lends them as soon as what was enqueued before is done, and does not wait for that. Nothing on the device
 * touches them until they are taken back. */
clf_status clf__pool_lend_later(const struct clf__pool *pool, struct clf__loan *loan);
/* Whether the host may read and write them. */
clf_status clf__pool_has_lent(int *out, const struct clf__pool *pool, const struct clf__loan *loan);
/* What is enqueued from now on sees what the host wrote; nothing where they are not lent. */
clf_status clf__pool_take_back(const struct clf__pool *pool, struct clf__loan *loan);

/* The buffers live on; with the last one goes its chunk. */
void clf__pool_free(struct clf__pool *pool);

#endif
