/* `clformer devices --report`: describes devices that the developers cannot access. */
#ifndef CLF_TOOLS_DEVICES_REPORT_H
#define CLF_TOOLS_DEVICES_REPORT_H

#include <jansson.h>

#include "runtime/opencl/listed_device.h"

struct clf_device;

/* Returns the trials of matrix instructions that AUTO considered on an open device. */
json_t *trials_array(const struct clf_device *device);

/* Opens and measures every device of the list, and prints one JSON object about the machine and the devices.
 * Returns the exit status. */
int report_devices(const struct clf_device_list *list);

#endif
