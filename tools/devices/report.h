/* `clformer devices --report`, for devices that the developers do not have. */
#ifndef CLF_TOOLS_DEVICES_REPORT_H
#define CLF_TOOLS_DEVICES_REPORT_H

#include "runtime/opencl/listed_device.h"

/* Prints one JSON object about the machine and every device of the list, each of which is opened and
 * measured. Returns the exit status. */
int report_devices(const struct clf_device_list *list);

#endif
