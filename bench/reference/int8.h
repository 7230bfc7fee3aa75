/* Matrix products in 8 bits, number by number. */
#ifndef CLF_BENCH_REFERENCE_INT8_H
#define CLF_BENCH_REFERENCE_INT8_H

#include <stdint.h>

/* q (count) and the scale of a row of activations, as cl/include/operand_int8.cl says. */
float reference_quantize_row(int16_t *q, const float *x, int count);

/* q (count) and the scale of an output of a weight. */
float reference_quantize_output(int8_t *q, const float *w, int count);

/* Σ a[k] b[k] times the scales: the very bits of a product. */
float reference_int8_dot(const int16_t *a, float a_scale, const int8_t *b, float b_scale, int count);

#endif
