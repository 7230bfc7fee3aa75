/* Memory on a device, and waiting for the work on it. */
#ifndef CLF_DEVICE_BUFFER_H
#define CLF_DEVICE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__buffer;

/* A new allocation of bytes (> 0), refused where it and what is already there exceed the device's memory.
 * `what` names it in a failure, which also says how much was asked for and how much the device has. Contents
 * are undefined. */
clf_status clf__buffer_create(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                              const char *what);

/* The same for what work reads and writes from end to end: in large pages, where it is the host's memory. */
clf_status clf__buffer_create_large(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                    const char *what);

/* The same for what is written once and then read from end to end, as weights are: it lies where the device
 * reads that fastest. */
clf_status clf__buffer_create_streamed(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                       const char *what);

/* Frees; NULL is ignored. */
void clf__buffer_free(struct clf__buffer *buffer);

size_t clf__buffer_bytes(const struct clf__buffer *buffer);
/* The buffer whose memory this one shares, or this one; *first receives the first byte there. */
const struct clf__buffer *clf__buffer_whole(const struct clf__buffer *buffer, size_t *first);
struct clf_device *clf__buffer_device(const struct clf__buffer *buffer);

/* The device's memory that was free when it was opened, less the buffers made since: drivers that allocate at
 * first use, or from the host's memory, would notice a lack of it too late. */
uint64_t clf__device_free_bytes(struct clf_device *device);

/* Blocking copies; they wait for the kernels enqueued before them. */
clf_status clf__buffer_write(struct clf__buffer *buffer, size_t offset, size_t bytes, const void *source);
/* `count` floats, the first at `offset` and each `pitch` bytes after the one before it. */
clf_status clf__buffer_scatter(struct clf__buffer *buffer, size_t offset, size_t pitch, int count,
                               const float *source);
/* Does not wait: source stays as it is until the next of these copies, or clf__device_finish(). */
clf_status clf__buffer_write_later(struct clf__buffer *buffer, size_t offset, size_t bytes,
                                   const void *source);
clf_status clf__buffer_read(const struct clf__buffer *buffer, size_t offset, size_t bytes, void *target);

/* Enqueued, not waited for. */
clf_status clf__buffer_copy(struct clf__buffer *target, size_t target_offset,
                            const struct clf__buffer *source, size_t source_offset, size_t bytes);
clf_status clf__buffer_fill(struct clf__buffer *buffer, size_t offset, size_t bytes, float value);

#endif
