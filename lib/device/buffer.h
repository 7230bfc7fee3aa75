/* Memory on a device, and waiting for the work on it. */
#ifndef CLF_DEVICE_BUFFER_H
#define CLF_DEVICE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__buffer;

/* Allocates `bytes` (> 0), refused if the device's memory in use would exceed its size. `what` names the
 * buffer in a failure, which also gives the requested bytes and the device's memory. Contents are
 * undefined. */
clf_status clf__buffer_create(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                              const char *what);

/* The same for memory that is read and written sequentially: in large pages, if it is host memory. */
clf_status clf__buffer_create_large(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                    const char *what);

/* The same for memory that is written once and then read sequentially, such as weights: placed where the
 * device reads it fastest. */
clf_status clf__buffer_create_streamed(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                       const char *what);

/* Frees; NULL is ignored. */
void clf__buffer_free(struct clf__buffer *buffer);

size_t clf__buffer_bytes(const struct clf__buffer *buffer);
/* The buffer whose memory this one shares, or this one; *first receives its first byte in that buffer. */
const struct clf__buffer *clf__buffer_whole(const struct clf__buffer *buffer, size_t *first);
struct clf_device *clf__buffer_device(const struct clf__buffer *buffer);

/* The free memory of the device when it was opened, minus the buffers allocated since: drivers that
 * allocate at first use, or from host memory, would report exhaustion too late. */
uint64_t clf__device_free_bytes(struct clf_device *device);

/* Blocking copies; they wait for the kernels enqueued before them. */
clf_status clf__buffer_write(struct clf__buffer *buffer, size_t offset, size_t bytes, const void *source);
/* Copies `count` floats, the first at `offset` and the following ones `pitch` bytes apart. */
clf_status clf__buffer_scatter(struct clf__buffer *buffer, size_t offset, size_t pitch, int count,
                               const float *source);
/* Does not wait: source must stay unchanged until the next of these copies, or clf__device_finish(). */
clf_status clf__buffer_write_later(struct clf__buffer *buffer, size_t offset, size_t bytes,
                                   const void *source);
clf_status clf__buffer_read(const struct clf__buffer *buffer, size_t offset, size_t bytes, void *target);

/* Enqueued, not waited for. */
clf_status clf__buffer_copy(struct clf__buffer *target, size_t target_offset,
                            const struct clf__buffer *source, size_t source_offset, size_t bytes);
clf_status clf__buffer_fill(struct clf__buffer *buffer, size_t offset, size_t bytes, float value);

#endif
