/* Dropout's mask, straight from Philox4x32-10 as lib/ops/dropout.h counts its elements. */
#ifndef CLF_BENCH_REFERENCE_PHILOX_H
#define CLF_BENCH_REFERENCE_PHILOX_H

#include <stdint.h>

/* The four words of a block. */
void reference_philox(uint32_t words[4], const uint32_t counter[4], uint64_t key);

/* What element (row, column) is multiplied by: 0 or 1 / (1 - rate). */
double reference_dropout_factor(uint32_t row, uint32_t column, uint64_t seed, uint32_t step, uint32_t site,
                                float rate);

#endif
