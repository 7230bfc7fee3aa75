/* Lists the devices of all OpenCL platforms and chooses among them. */
#ifndef CLF_OPENCL_LISTED_DEVICE_H
#define CLF_OPENCL_LISTED_DEVICE_H

#include <clformer/device.h>

#include "runtime/opencl/opencl.h"

struct clf__listed_device {
    cl_platform_id platform;
    cl_device_id id;
    struct clf_device_info info; /* owns its strings, except order_reason */
    size_t max_work_group;
    int is_available;
    int version;            /* OpenCL version, 10 * major + minor */
    int c_version;          /* newest OpenCL C version, 10 * major + minor */
    int has_device_atomics; /* device-scope acquire and release, in OpenCL C 3.0 */
    int has_fast_dot;       /* the driver reports accelerated integer dot products of four bytes */
    int has_dp4a;           /* NVIDIA's instruction for dot products of four bytes */
    int capability;         /* NVIDIA's compute capability, 10 * major + minor; 0 for other vendors */
    int has_amd_compiler;   /* AMD's own driver, whose compiler may support matrix instructions */
    int dpas_lanes;         /* sub-group size of Intel's matrix instructions; 0: none */
    int has_exact_division; /* has correctly rounded division and square roots */
    uint64_t free_bytes;    /* free memory; 0 if the driver does not report it */
    unsigned float_width;   /* floats in a vector register; 0 if not reported */
    unsigned lanes;         /* lanes per compute unit */
    int order_class;        /* device class of choice.c, best first */
    char reason[256];       /* text of info.order_reason, filled when the list is sorted */
};

struct clf_device_list {
    struct clf__listed_device *devices;
    int count;
    int platform_count;
    int left_out; /* number of platforms that failed */
    char *silent; /* notes on platforms without devices, "" if there are none */
};

/* Fills candidate_order and order_reason of every device. */
void clf__choice_order(struct clf_device_list *list);

/* Returns the index of the device at this position of the default order, or -1. */
int clf__choice_candidate(const struct clf_device_list *list, int order);

/* Returns the device to measure against the default device if the reported properties do not show which is
 * faster: the same card with another driver, or the first CPU if the default device is an integrated GPU.
 * -1 if there is none. */
int clf__choice_rival(const struct clf_device_list *list);

/* Moves a device to the front of the default order. `rates`: measured operations per second of this device
 * and of the previous first one, for order_reason. */
void clf__choice_prefer(struct clf_device_list *list, int index, const double rates[2]);

/* Sets *index to the device that a selector (not NULL or "") selects. Returns CLF_NO_DEVICE if no device
 * matches; the message lists the devices. */
clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector);

/* Finds the devices for comma-separated selectors, each device once. A selector that ends in * selects
 * every usable device that matches, and "all" selects every usable device, each card with only one driver.
 * `indices` has space for every device. */
clf_status clf__choice_select_several(int *indices, int *count, const struct clf_device_list *list,
                                      const char *selectors);

/* Returns CLF_NO_DEVICE, with the reason, for a list without a usable device. */
clf_status clf__choice_nothing(const struct clf_device_list *list);

#endif
