/* Top-k as specified in lib/math/ops/top_k.h, in double precision, by sorting whole rows. */
#ifndef CLF_BENCH_REFERENCE_TOP_K_H
#define CLF_BENCH_REFERENCE_TOP_K_H

#include <stdint.h>

/* Processes one row and overwrites its logits (vocabulary). statistics: 4 values. */
void reference_top_k(float *values, int32_t *ids, int k, double *statistics, float *logits, int vocabulary,
                     const int32_t *banned, int banned_count, int both);

#endif
