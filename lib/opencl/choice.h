/* Which device is taken: the default order, and what a selector means. */
#ifndef CLF_OPENCL_CHOICE_H
#define CLF_OPENCL_CHOICE_H

#include "opencl/listed_device.h"

/* Fills candidate_order and order_reason of every device. */
void clf__choice_order(struct clf_device_list *list);

/* The index of the device that comes at this place of the default order, or -1. */
int clf__choice_candidate(const struct clf_device_list *list, int order);

/* The device that a selector (not NULL, not "") means, as an index into list. Nothing found is CLF_NO_DEVICE;
 * the sentence lists what is there. */
clf_status clf__choice_select(int *index, const struct clf_device_list *list, const char *selector);

/* CLF_NO_DEVICE for a list in which nothing can be opened. */
clf_status clf__choice_nothing(const struct clf_device_list *list);

#endif
