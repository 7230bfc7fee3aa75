/* GEMM in int8, element by element. */
#ifndef CLF_BENCH_REFERENCE_INT8_H
#define CLF_BENCH_REFERENCE_INT8_H

#include <stdint.h>

/* Quantizes a row of activations to q (count) and returns its scale, like cl/include/operand_int8.cl. */
float reference_quantize_row(int16_t *q, const float *x, int count);

/* Quantizes the weights of one output to q (count) and returns their scale. */
float reference_quantize_output(int8_t *q, const float *w, int count);

/* Returns Σ a[k] b[k] times the scales, bit-identical to the kernels. */
float reference_int8_dot(const int16_t *a, float a_scale, const int8_t *b, float b_scale, int count);

#endif
