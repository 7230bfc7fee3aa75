/* The least cost of an operation. */
#ifndef CLF_DEVICE_COST_H
#define CLF_DEVICE_COST_H

#include <clformer/device.h>

/* The operations of a launch (an fma is two, a function such as exp one) and the bytes that it must move
 * at least, each operand once. An upper bound if only the device knows the exact number. */
struct clf__cost {
    double operations, bytes;
    clf_precision precision; /* precision of the multiplications; fp32 except for GEMMs with weights */
};

#endif
