/* Non-blocking reads of device buffers. The host memory is pinned, because some drivers read into other
 * memory only while the host waits. */
#ifndef CLF_DEVICE_READBACK_H
#define CLF_DEVICE_READBACK_H

#include <stddef.h>

#include "base/status.h"

struct clf_device;
struct clf__buffer;
struct clf__readback;

/* Allocates `bytes` (> 0) of host memory, which do not count as device memory. `what` names the data in error
 * messages and must outlive the readback. */
clf_status clf__readback_create(struct clf__readback **out, struct clf_device *device, size_t bytes,
                                const char *what);
/* Frees a readback; waits for the device if a read is in progress. NULL is ignored. */
void clf__readback_free(struct clf__readback *readback);

/* Enqueues a read of `bytes` bytes at `offset` of the buffer, at most the size of the readback, and submits
 * all commands enqueued so far. No other read may be in progress. */
clf_status clf__readback_start(struct clf__readback *readback, const struct clf__buffer *buffer,
                               size_t offset, size_t bytes);

/* Waits for the read, but not for commands enqueued after it. *out receives the bytes, which are valid until
 * the next start. */
clf_status clf__readback_wait(const void **out, struct clf__readback *readback);

/* Forgets a read that has ended, because the caller has waited for the device. */
void clf__readback_forget(struct clf__readback *readback);

#endif
