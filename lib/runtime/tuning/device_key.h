/* Identifies a device and its driver in the keys of cache files. */
#ifndef CLF_TUNING_DEVICE_KEY_H
#define CLF_TUNING_DEVICE_KEY_H

#include <clformer/device.h>

#include "base/status.h"

/* Builds a key from the device's name and the versions of clformer, platform, device and driver. The
 * kernel version that radeonsi writes into the name is removed; LLVM's version is kept. Identical cards
 * have the same key. The caller frees *out. */
clf_status clf__device_key(char **out, const struct clf_device_info *info);

#endif
