/* Sizes of batches. */
#ifndef CLF_ENGINE_BATCH_SIZE_H
#define CLF_ENGINE_BATCH_SIZE_H

#include <clformer/device.h>

/* Returns the --batch-tokens for a number of compute units: 2048 for the CPU kernel variant, a power of two
 * from 2048 to 131072 for the GPU variant. */
int clf__batch_tokens_wanted(clf_variant variant, unsigned compute_units);

/* Returns the lines in a batch of that size: each reserves memory for the longest translation. */
int clf__batch_lines_wanted(int batch_tokens);

#endif
