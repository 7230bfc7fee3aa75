/* Sums over rows, for the gradients of parameters: rows are divided into chunks, whose sums are stored and
 * then added in order. The number of chunks, and so the bits, depend only on the number of rows. */
#ifndef CLF_OPS_CHUNKS_H
#define CLF_OPS_CHUNKS_H

#include "math/tensor/tensor.h"

struct clf__chunks {
    int rows; /* rows of each chunk; the last one may have fewer */
    int count;
};

/* Divides rows into chunks of least_rows rows, or more if there would be more than 256 chunks, which are
 * enough for all cores and cheap to add. */
struct clf__chunks clf__chunks(int rows, int least_rows);

/* target += scale * the sum over the rows of sums, in an order that depends only on their number. */
clf_status clf__chunks_add(struct clf__tensor target, /* (1, C) */
                           struct clf__tensor sums,   /* (chunks, C) */
                           float scale);

#endif
