/* The list of devices of the ICD loader, and the choice of one. */
#ifndef CLF_OPENCL_LISTED_DEVICE_H
#define CLF_OPENCL_LISTED_DEVICE_H

#include <clformer/device.h>

#include "opencl/opencl.h"

struct clf__listed_device {
    cl_platform_id platform;
    cl_device_id id;
    struct clf_device_info info; /* its strings are owned, except order_reason */
    size_t max_work_group;
    int is_available;
    int version;            /* version of OpenCL, 10 * major + minor */
    int c_version;          /* the newest OpenCL C of its compiler */
    int has_device_atomics; /* acquire and release across the device, in OpenCL C 3.0 */
    int has_fast_dot;       /* the driver reports accelerated integer dot products of four bytes */
    int has_dp4a;           /* NVIDIA's instruction for dot products of four bytes */
    int has_mma;            /* NVIDIA's matrix instructions for fp16, bf16 and int8 */
    int has_amd_compiler;   /* AMD's own driver, whose compiler may have matrix instructions */
    int has_exact_division; /* rounds quotients and square roots correctly on request */
    uint64_t free_bytes;    /* free memory; 0 if the driver does not report it */
    unsigned float_width;   /* floats in a vector register as the driver reports; 0 if it does not */
    unsigned lanes;         /* lanes of a compute unit: numbers that it computes in parallel */
    int order_class;        /* class in choice.c, the best first */
    char reason[256];       /* text of info.order_reason, filled when the list is sorted */
};

struct clf_device_list {
    struct clf__listed_device *devices;
    int count;
    int platform_count;
    int left_out; /* platforms left out because they failed */
    char *silent; /* notes on platforms without devices, "" if there are none */
};

/* Fills candidate_order and order_reason of every device. */
void clf__choice_order(struct clf_device_list *list);

/* The index of the device at this position of the default order, or -1. */
int clf__choice_candidate(const struct clf_device_list *list, int order);

/* The usable device to measure against the first one in default order, if the reported properties do not
 * show which is faster: the same card with another driver, or the first CPU if the first device is a GPU
 * that shares the processor's memory. -1 if there is none. */
int clf__choice_rival(const struct clf_device_list *list);

/* Moves a device to the front of the default order. `rates`: measured operations per second of this device
 * and of the former first one, for their reasons. */
void clf__choice_prefer(struct clf_device_list *list, int index, const double rates[2]);

/* Finds the device for a selector (not NULL, not ""), as an index into list. CLF_NO_DEVICE if no device
 * matches; the message lists the devices. */
clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector);

/* Finds the devices for selectors separated by commas, each device once, in order. A selector may end in
 * *, which selects every usable device that matches, and "all" selects every usable one, in default order,
 * each card with only one driver. `indices` is as long as the list. */
clf_status clf__choice_select_several(int *indices, int *count, const struct clf_device_list *list,
                                      const char *selectors);

/* CLF_NO_DEVICE for a list without a usable device. */
clf_status clf__choice_nothing(const struct clf_device_list *list);

#endif
