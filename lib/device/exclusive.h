/* One persistent launch at a time per hardware device: the groups of two of them, each partly resident,
 * would wait forever. */
#ifndef CLF_DEVICE_EXCLUSIVE_H
#define CLF_DEVICE_EXCLUSIVE_H

struct clf_device;

/* Returns nonzero if the device may now enqueue persistent launches: no other open device of the process
 * holds the same OpenCL device. Does not wait. */
int clf__device_claim(struct clf_device *device);
/* Call after all persistent launches have ended. A device that holds nothing is ignored. */
void clf__device_release(struct clf_device *device);

#endif
