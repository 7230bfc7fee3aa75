/* Locks a device, which only one thread at a time may use. Functions that several threads call take the
 * lock. */
#ifndef CLF_DEVICE_LOCK_H
#define CLF_DEVICE_LOCK_H

struct clf_device;

/* Locks the device until control leaves the enclosing block. The lock is recursive; NULL is ignored.
 * Callbacks of the caller must not run inside the block. */
#define CLF__LOCK_DEVICE(device)                                                                             \
    struct clf_device *locked_device __attribute__((cleanup(clf__device_unlock), unused)) =                  \
        clf__device_lock(device)

/* Locks a device and returns it, for clf__device_unlock(). */
struct clf_device *clf__device_lock(struct clf_device *device);
void clf__device_unlock(struct clf_device **device);

#endif
