/* Exceptions for single vendors, each with its reason. All other decisions use the reported properties of
 * a device. */
#ifndef CLF_OPENCL_QUIRKS_H
#define CLF_OPENCL_QUIRKS_H

#include <clformer/device.h>

/* Returns whether a device is PoCL's. */
int clf__quirk_is_pocl(const struct clf_device_info *info);

/* Returns whether this driver confuses the kernels of one program in several queues of a process, unless
 * the programs of each queue are built with different options. */
int clf__quirk_mixes_up_kernels(const struct clf_device_info *info);

/* The reason why an installed platform may show no device, and the remedy; "" if none is known. */
const char *clf__quirk_no_devices(const char *platform_name, const char *platform_vendor,
                                  const char *platform_version);

/* The approximate number of fp32 lanes of a compute unit: by the vendor's PCI number, and NVIDIA's compute
 * capability (0.0: not reported). */
unsigned clf__quirk_lanes(unsigned vendor, unsigned major, unsigned minor);

#endif
