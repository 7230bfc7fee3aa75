/* One thread at a time works on a device: functions that other modules call from several threads lock it. */
#ifndef CLF_DEVICE_LOCK_H
#define CLF_DEVICE_LOCK_H

struct clf_device;

/* Locks the device until the end of the enclosing block, on every way out of it. A thread may lock a device
 * that it has locked; NULL locks nothing. No callback of the caller runs in such a block. */
#define CLF__LOCK_DEVICE(device)                                                                             \
    struct clf_device *locked_device __attribute__((cleanup(clf__device_unlock), unused)) =                  \
        clf__device_lock(device)

/* Returns the device, for clf__device_unlock(). */
struct clf_device *clf__device_lock(struct clf_device *device);
void clf__device_unlock(struct clf_device **device);

#endif
