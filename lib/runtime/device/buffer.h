/* Device buffers: allocation and copies. */
#ifndef CLF_DEVICE_BUFFER_H
#define CLF_DEVICE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__buffer;

/* Allocates `bytes` (> 0) with undefined contents. Fails if the buffers on the device would exceed its
 * memory. `what` names the buffer in the error message, which also contains the requested and available
 * bytes. */
clf_status clf__buffer_create(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                              const char *what);

/* Like clf__buffer_create(), for data that is accessed sequentially: uses large pages if it is in host
 * memory. */
clf_status clf__buffer_create_large(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                    const char *what);

/* Like clf__buffer_create(), for data that is written once and then read sequentially, such as weights:
 * placed where the device reads it fastest. */
clf_status clf__buffer_create_streamed(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                       const char *what);

/* Frees a buffer; NULL is ignored. */
void clf__buffer_free(struct clf__buffer *buffer);

size_t clf__buffer_bytes(const struct clf__buffer *buffer);
/* Returns the parent of a sub-buffer, or the buffer itself. *first receives the offset in the parent. */
const struct clf__buffer *clf__buffer_whole(const struct clf__buffer *buffer, size_t *first);
struct clf_device *clf__buffer_device(const struct clf__buffer *buffer);

/* Returns the memory that was free when the device was opened, minus all buffers since then. Drivers that
 * allocate at first use, or in host memory, report exhaustion too late. */
uint64_t clf__device_free_bytes(struct clf_device *device);

/* Blocking copies; they wait for the kernels enqueued before them. */
clf_status clf__buffer_write(struct clf__buffer *buffer, size_t offset, size_t bytes, const void *source);
/* Writes `count` floats, `pitch` bytes apart, starting at `offset`. */
clf_status clf__buffer_scatter(struct clf__buffer *buffer, size_t offset, size_t pitch, int count,
                               const float *source);
/* Non-blocking write: `source` must not change until the next blocking copy or clf__device_finish(). */
clf_status clf__buffer_write_later(struct clf__buffer *buffer, size_t offset, size_t bytes,
                                   const void *source);
clf_status clf__buffer_read(const struct clf__buffer *buffer, size_t offset, size_t bytes, void *target);

/* Enqueues a copy between buffers without waiting. */
clf_status clf__buffer_copy(struct clf__buffer *target, size_t target_offset,
                            const struct clf__buffer *source, size_t source_offset, size_t bytes);
clf_status clf__buffer_fill(struct clf__buffer *buffer, size_t offset, size_t bytes, float value);

#endif
