/* Exceptions for single vendors, each with its reason. Everything else is decided from what a device reports.
 */
#ifndef CLF_OPENCL_QUIRKS_H
#define CLF_OPENCL_QUIRKS_H

#include <clformer/device.h>

/* Whether a device is PoCL's. */
int clf__quirk_is_pocl(const struct clf_device_info *info);

/* Whether this driver mixes up the kernels of one program in several queues of a process, unless each queue's
 * programs are built with other options. */
int clf__quirk_mixes_up_kernels(const struct clf_device_info *info);

/* Why a platform that is installed may show no device, and what to do; "" where nothing is known. */
const char *clf__quirk_no_devices(const char *platform_name, const char *platform_vendor,
                                  const char *platform_version);

/* For how many fp32 numbers a compute unit of this maker computes at a time, roughly: the vendor's number on
 * the PCI bus, and NVIDIA's compute capability (0.0: not told). */
unsigned clf__quirk_lanes(unsigned vendor, unsigned major, unsigned minor);

#endif
