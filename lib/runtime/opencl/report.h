/* The limits of a device, for reports. */
#ifndef CLF_OPENCL_REPORT_H
#define CLF_OPENCL_REPORT_H

#include "runtime/opencl/listed_device.h"

/* Receives the name of a value and its text. Any status except CLF_OK ends the report. */
typedef clf_status clf__fact_visitor(void *user, const char *name, const char *value);

/* Reports the limits and the extensions of a device. Values that the driver does not report are omitted. */
clf_status clf__listed_device_report(const struct clf__listed_device *device, clf__fact_visitor *visit,
                                     void *user);

#endif
