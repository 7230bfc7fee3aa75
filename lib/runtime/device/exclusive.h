/* Allows one persistent launch at a time per hardware device: two launches, each only partly resident,
 * would deadlock. */
#ifndef CLF_DEVICE_EXCLUSIVE_H
#define CLF_DEVICE_EXCLUSIVE_H

struct clf_device;

/* Returns nonzero if the device may enqueue persistent launches: no other open device of the process has
 * claimed the same OpenCL device. Does not wait. Each successful claim needs a release. */
int clf__device_claim(struct clf_device *device);
/* Releases a claim of a device, if it has one. Call after all persistent launches have ended. */
void clf__device_release(struct clf_device *device);

#endif
