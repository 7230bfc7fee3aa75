/* The dropout mask, directly from Philox4x32-10 with the counters of lib/math/ops/dropout.h. */
#ifndef CLF_BENCH_REFERENCE_PHILOX_H
#define CLF_BENCH_REFERENCE_PHILOX_H

#include <stdint.h>

/* Computes the four words of a block. */
void reference_philox(uint32_t words[4], const uint32_t counter[4], uint64_t key);

/* Returns the factor of element (row, column): 0 or 1 / (1 - rate). */
double reference_dropout_factor(uint32_t row, uint32_t column, uint64_t seed, uint32_t step, uint32_t site,
                                float rate);

#endif
