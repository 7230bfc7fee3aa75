/* Identifiers and properties of a device that only some drivers report. */
#ifndef CLF_OPENCL_IDENTITY_H
#define CLF_OPENCL_IDENTITY_H

#include "runtime/opencl/listed_device.h"

/* Queries the PCI address, the UUID, the clock, the kind of memory, accelerated integer dot products, and
 * the lanes per compute unit. Values that the driver does not report stay "" or 0. Fails only if memory is
 * exhausted. */
clf_status clf__identity_read(struct clf__listed_device *device, const char *extensions);

/* Returns whether a space-separated list of extensions contains `name`. */
int clf__identity_lists(const char *extensions, const char *name);

/* Returns whether both are complete PCI addresses of the same device. Accepts "0000:03:00.0", "03:00.0"
 * (unknown domain), and "00000000:03:00.0" (nvidia-smi). */
int clf__identity_is_pci(const char *a, const char *b);

/* Returns whether `text` is the UUID, or a prefix of at least 8 digits, with or without nvidia-smi's
 * "GPU-". */
int clf__identity_is_uuid(const char *uuid, const char *text);

#endif
