/* What work costs at least. */
#ifndef CLF_DEVICE_COST_H
#define CLF_DEVICE_COST_H

#include <clformer/device.h>

/* What a launch computes (an fma is two operations, a function such as exp one) and the bytes it has to move
 * at least, each operand once. Where only the device knows the exact number, an upper bound. */
struct clf__cost {
    double operations, bytes;
    clf_precision precision; /* of what it multiplies; fp32 but for products with weights */
};

#endif
