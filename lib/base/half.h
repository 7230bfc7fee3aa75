/* Floats of 16 bits on the host: IEEE halves (fp16) and bf16, the upper half of a float. */
#ifndef CLF_BASE_HALF_H
#define CLF_BASE_HALF_H

#include <stdint.h>

/* To the nearest, ties to even; what is too large becomes infinite, NaN stays NaN. */
uint16_t clf__fp16_of(float value);
uint16_t clf__bf16_of(float value);

/* Exact: every half is a float. */
float clf__float_of_fp32(uint32_t bits); /* a float's own */
float clf__float_of_fp16(uint16_t bits);
float clf__float_of_bf16(uint16_t bits);

#endif
