/* A device as the ICD loader shows it, the list of them, and which one is taken. */
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
    int has_fast_dot;       /* integer dot products of four bytes are accelerated, by the driver's word */
    int has_dp4a;           /* NVIDIA's instruction for dot products of four bytes */
    int has_mma;            /* NVIDIA's matrix instructions for fp16, bf16 and int8 */
    int has_amd_compiler;   /* AMD's own driver, whose compiler may have matrix instructions */
    int has_exact_division; /* rounds quotients and square roots correctly where it is asked to */
    uint64_t free_bytes;    /* free memory; 0 where the driver does not report it */
    unsigned float_width;   /* floats in a vector register, as the driver tells; 0 where it does not */
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

/* Fills candidate_order and order_reason of every device. */
void clf__choice_order(struct clf_device_list *list);

/* The index of the device that comes at this place of the default order, or -1. */
int clf__choice_candidate(const struct clf_device_list *list, int order);

/* The usable device with which the first one in default order has to be compared, since what drivers report
 * does not say which is faster: the same card by another driver, or where the first one is a GPU that shares
 * the processor's memory, the first processor. -1 if there is none. */
int clf__choice_rival(const struct clf_device_list *list);

/* Moves a device to the front of the default order. `rates`: operations a second that it and the former first
 * device were seen to reach, which the reasons of both name. */
void clf__choice_prefer(struct clf_device_list *list, int index, const double rates[2]);

/* The device that a selector (not NULL, not "") means, as an index into list. Nothing found is CLF_NO_DEVICE;
 * the sentence lists what is there. */
clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector);

/* The devices that selectors with commas between them mean, each once, in their order: as above, or with a *
 * behind it every usable device that it fits, and "all" every usable one, in default order, each card by one
 * driver alone. `indices` has room for all of the list. */
clf_status clf__choice_select_several(int *indices, int *count, const struct clf_device_list *list,
                                      const char *selectors);

/* CLF_NO_DEVICE for a list in which nothing can be opened. */
clf_status clf__choice_nothing(const struct clf_device_list *list);

#endif
