/* Locks a device: one thread at a time works on it. Functions that several threads call lock it. */
#ifndef CLF_DEVICE_LOCK_H
#define CLF_DEVICE_LOCK_H

struct clf_device;

/* Locks the device until the enclosing block ends, however it ends. The lock is recursive; NULL is ignored.
 * Callbacks of the caller must not run inside the block. */
#define CLF__LOCK_DEVICE(device)                                                                             \
    struct clf_device *locked_device __attribute__((cleanup(clf__device_unlock), unused)) =                  \
        clf__device_lock(device)

/* Returns the device, for clf__device_unlock(). */
struct clf_device *clf__device_lock(struct clf_device *device);
void clf__device_unlock(struct clf_device **device);

#endif
