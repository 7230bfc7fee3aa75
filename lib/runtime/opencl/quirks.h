/* Vendor-specific workarounds, each with its reason. All other code uses only the reported properties of a
 * device. */
#ifndef CLF_OPENCL_QUIRKS_H
#define CLF_OPENCL_QUIRKS_H

#include <clformer/device.h>

/* Returns whether the device belongs to PoCL. */
int clf__quirk_is_pocl(const struct clf_device_info *info);

/* Returns whether this driver mixes up kernels if several queues of a process use the same program.
 * Different build options for each queue avoid this. */
int clf__quirk_mixes_up_kernels(const struct clf_device_info *info);

/* Returns why an installed platform may have no device, and the remedy; "" if unknown. */
const char *clf__quirk_no_devices(const char *platform_name, const char *platform_vendor,
                                  const char *platform_version);

/* Returns the approximate number of fp32 lanes per compute unit, by PCI vendor ID and, for NVIDIA, compute
 * capability (0.0: not reported). */
unsigned clf__quirk_lanes(unsigned vendor, unsigned major, unsigned minor);

#endif
