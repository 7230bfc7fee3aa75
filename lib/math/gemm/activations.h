/* Converts activations to the precision of a GEMM, for kernels with packed weights. */
#ifndef CLF_GEMM_ACTIVATIONS_H
#define CLF_GEMM_ACTIVATIONS_H

#include "math/gemm/gemm.h"

/* Converted rows of x: row r is at r * pitch bytes, in the format of the conversion kernel. */
struct clf__activations {
    const struct clf__buffer *buffer; /* owned by the device, valid until the next call */
    int pitch;
};

/* Grows the device's scratch memory for packed operands of a GEMM to at least `bytes`. */
clf_status clf__activations_reserve(struct clf_device *device, size_t bytes);
/* Grows the device's scratch memory for a transposed operand to at least `bytes`. */
clf_status clf__transposed_reserve(struct clf_device *device, size_t bytes);

/* Returns whether the device computes in bf16, rather than only storing weights in bf16. */
int clf__has_bf16_gemm(const struct clf_device *device);

/* Returns whether GEMMs of this precision read packed rows instead of fp32 rows. */
int clf__activations_are_packed(const struct clf_device *device, enum clf__precision precision);

/* Enqueues the conversion of x (rows, inputs). Grows the device's scratch memory unless
 * clf__gemm_reserve() has reserved enough. */
clf_status clf__activations_pack(struct clf__activations *out, struct clf_device *device,
                                 struct clf__matrix x, int rows, int inputs, enum clf__precision precision);

#endif
