/* Which of several devices one is, and what it promises: what only some drivers tell. */
#ifndef CLF_OPENCL_IDENTITY_H
#define CLF_OPENCL_IDENTITY_H

#include "opencl/listed_device.h"

/* Asks for the address on the PCI bus, the UUID, the clock, whose memory it computes in, whether integer dot
 * products are accelerated, and how many lanes a compute unit has. A value that the driver does not report
 * stays "" or 0; fails only for lack of memory. `extensions` is the device's list. */
clf_status clf__identity_read(struct clf__listed_device *device, const char *extensions);

/* Whether a list of extensions, with spaces between them, holds this one. */
int clf__identity_lists(const char *extensions, const char *name);

/* Whether both are whole addresses on the PCI bus and mean the same place: "0000:03:00.0", "03:00.0" where
 * the domain is not known, or "00000000:03:00.0" as nvidia-smi writes it. */
int clf__identity_is_pci(const char *a, const char *b);

/* Whether a text is a UUID or its first 8 digits or more, with or without nvidia-smi's "GPU-". */
int clf__identity_is_uuid(const char *uuid, const char *text);

#endif
