/* A device as the ICD loader shows it, and the list of them. */
#ifndef CLF_OPENCL_LISTED_DEVICE_H
#define CLF_OPENCL_LISTED_DEVICE_H

#include <clformer/device.h>

#include "opencl/opencl.h"

struct clf__listed_device {
    cl_platform_id platform;
    cl_device_id id;
    struct clf_device_info info; /* its strings are owned, but for order_reason */
    size_t max_work_group;
    int is_available;
    int version;            /* OpenCL's, 10 * major + minor */
    int c_version;          /* the newest OpenCL C that its compiler takes */
    int has_device_atomics; /* acquire and release across the device, in OpenCL C 3.0 */
    unsigned lanes;         /* of a compute unit: for how many numbers it computes at a time */
    int order_class;        /* choice.c's, the best first */
    char reason[256];       /* what info.order_reason says, filled when the list is in order */
};

struct clf_device_list {
    struct clf__listed_device *devices;
    int count;
    int platform_count;
    int left_out; /* of the platforms, because they failed */
    char *silent; /* about platforms that show no device, "" where there is none */
};

#endif
