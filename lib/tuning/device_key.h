/* The identity of a device and its driver in the keys of files in the cache folder. */
#ifndef CLF_TUNING_DEVICE_KEY_H
#define CLF_TUNING_DEVICE_KEY_H

#include <clformer/device.h>

#include "base/status.h"

/* Lines with the versions of clformer, the platform, the device and its driver, and the device's name.
 * They do not depend on the index of the device or on the version of the operating system kernel, which
 * radeonsi writes into the name; they depend on LLVM's version, which it writes there too. Equal cards
 * have the same key. The caller frees *out. */
clf_status clf__device_key(char **out, const struct clf_device_info *info);

#endif
