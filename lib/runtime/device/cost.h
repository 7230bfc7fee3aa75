/* The minimum cost of an operation, for the profile. */
#ifndef CLF_DEVICE_COST_H
#define CLF_DEVICE_COST_H

#include "base/precision.h"

/* The operations of a launch (2 for an fma, 1 for a function such as exp) and the minimum number of bytes
 * moved, each operand once. Upper bounds if only the device knows the exact numbers. */
struct clf__cost {
    double operations, bytes;
    enum clf__precision precision; /* precision of the multiplications; fp32 except for GEMMs with weights */
};

#endif
