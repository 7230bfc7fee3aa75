/* A counter-based random number generator: it has no state, so any number can be recomputed. */
#ifndef CLF_BASE_RANDOM_H
#define CLF_BASE_RANDOM_H

#include <stdint.h>

/* Computes one block of Philox4x32-10 (Salmon et al. 2011). cl/include/philox.cl is the kernel version. */
void clf__philox(uint32_t words[4], const uint32_t counter[4], uint64_t key);

/* The last word of the counter identifies the use, so no two uses share random numbers. Dropout sites are
 * numbered from 0. */
enum clf__random_use {
    CLF__RANDOM_WEIGHTS = 0x7fffff00,
    CLF__RANDOM_PAIRS,
    CLF__RANDOM_BATCHES,
    CLF__RANDOM_SAMPLES
};

/* Returns a uniform number in [0, 1) with 53 random bits. */
double clf__random_unit(uint32_t high, uint32_t low);

/* Shuffles items; the order depends only on seed, use and `round`. */
void clf__shuffle(int *items, int count, uint64_t seed, enum clf__random_use use, uint32_t round);

#endif
