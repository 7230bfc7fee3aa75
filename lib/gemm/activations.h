/* Activations in the precision of a product, for kernels that multiply by packed weights. */
#ifndef CLF_GEMM_ACTIVATIONS_H
#define CLF_GEMM_ACTIVATIONS_H

#include "gemm/gemm.h"

/* Rows of x as a product reads them: row r at r * pitch bytes, as cl/<program>.cl says that wrote them. */
struct clf__activations {
    const struct clf__buffer *buffer; /* the device's own, until the next call */
    int pitch;
};

/* Enlarges the device's scratch memory, which whoever multiplies may fill with copies of its operands. */
clf_status clf__activations_reserve(struct clf_device *device, size_t bytes);
/* The same of its scratch memory for a transposed operand. */
clf_status clf__transposed_reserve(struct clf_device *device, size_t bytes);

/* Whether the device computes in bf16, and does not merely store weights so. */
int clf__has_bf16_products(const struct clf_device *device);

/* Whether products of this precision read packed rows, and not the fp32 rows themselves. */
int clf__activations_are_packed(const struct clf_device *device, clf_precision precision);

/* Enqueues the conversion of x (rows, inputs). Enlarges the device's scratch memory where clf__gemm_reserve()
 * has not been told of so many. */
clf_status clf__activations_pack(struct clf__activations *out, struct clf_device *device,
                                 struct clf__matrix x, int rows, int inputs, clf_precision precision);

#endif
