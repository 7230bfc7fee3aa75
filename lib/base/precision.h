/* Internal precisions: clf_precision without AUTO. */
#ifndef CLF_BASE_PRECISION_H
#define CLF_BASE_PRECISION_H

#include <clformer/device.h>

/* The values are used in file names, tuning files and kernels (matrix_layout.h). */
enum clf__precision {
    CLF__PRECISION_FP32 = 0,
    CLF__PRECISION_FP16 = 1,
    CLF__PRECISION_BF16 = 2,
    CLF__PRECISION_INT8 = 3,
};
enum { CLF__PRECISIONS = 4 };

/* Converts a public precision other than AUTO. */
static inline enum clf__precision clf__precision_of(clf_precision precision)
{
    return (enum clf__precision)((int)precision - (int)CLF_PRECISION_FP32);
}

static inline clf_precision clf__precision_public(enum clf__precision precision)
{
    return (clf_precision)((int)precision + (int)CLF_PRECISION_FP32);
}

#endif
