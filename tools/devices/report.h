/* What `clformer devices --report` prints, for a card that the developers do not have. */
#ifndef CLF_TOOLS_DEVICES_REPORT_H
#define CLF_TOOLS_DEVICES_REPORT_H

#include "opencl/listed_device.h"

/* Prints one JSON object about the machine and every device of the list; opens each of them and measures it.
 * Gives the exit status. */
int report_devices(const struct clf_device_list *list);

#endif
