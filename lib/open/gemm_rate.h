/* Measures the speed of GEMM. */
#ifndef CLF_OPEN_GEMM_RATE_H
#define CLF_OPEN_GEMM_RATE_H

#include "base/precision.h"
#include "base/status.h"

struct clf_device;

/* A GEMM of x (rows, size) with a weight (size, size). */
struct clf__gemm_case {
    enum clf__precision precision; /* of the weight */
    int rows, size;
    double seconds; /* duration of the measurement, without compilation */
};

/* Measures the operations per second of a GEMM, as the best of at least three runs of a millisecond, because
 * other load on the machine can only add time. x is in the precision that the GEMM reads
 * (clf__gemm_row_operand()), as the layers of a model pass it. */
clf_status clf__gemm_rate(double *rate, struct clf_device *device, const struct clf__gemm_case *gemm);

#endif
