/* Identity and properties of a device that only some drivers report. */
#ifndef CLF_OPENCL_IDENTITY_H
#define CLF_OPENCL_IDENTITY_H

#include "opencl/listed_device.h"

/* Queries the PCI address, the UUID, the clock, the kind of memory, accelerated integer dot products, and
 * the lanes of a compute unit. A value that the driver does not report stays "" or 0; fails only for lack
 * of memory. `extensions` is the device's list. */
clf_status clf__identity_read(struct clf__listed_device *device, const char *extensions);

/* Returns whether a list of extensions, separated by spaces, contains this one. */
int clf__identity_lists(const char *extensions, const char *name);

/* Returns whether both are complete PCI addresses of the same device: "0000:03:00.0", "03:00.0" if the
 * domain is not known, or "00000000:03:00.0" as nvidia-smi writes it. */
int clf__identity_is_pci(const char *a, const char *b);

/* Returns whether a text is a UUID or its first 8 digits or more, with or without nvidia-smi's "GPU-". */
int clf__identity_is_uuid(const char *uuid, const char *text);

#endif
