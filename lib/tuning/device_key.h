/* The text that stands for a device and its driver in the keys of files in the cache folder. */
#ifndef CLF_TUNING_DEVICE_KEY_H
#define CLF_TUNING_DEVICE_KEY_H

#include <clformer/device.h>

#include "base/status.h"

/* Lines that hold the versions of clformer, the platform, the device and its driver, and the device's name.
 * They do not change with the index of the device or with the version of the kernel, which radeonsi writes
 * into the name; they change with LLVM's version, which it writes there too. Equal cards have one key. The
 * caller frees *out. */
clf_status clf__device_key(char **out, const struct clf_device_info *info);

#endif
