/* Sums over rows, for the gradients of parameters: rows fall into chunks, whose sums lie side by side until
 * they are added in their order. How many chunks there are depends on the number of rows alone, and so do the
 * bits. */
#ifndef CLF_OPS_CHUNKS_H
#define CLF_OPS_CHUNKS_H

#include "tensor/tensor.h"

struct clf__chunks {
    int rows; /* of each chunk; the last one may have fewer */
    int count;
};

/* Chunks of least_rows rows: enough of them for every core, but so few that adding them up is little beside
 * the sums. Of more where there would be more than 256. */
struct clf__chunks clf__chunks(int rows, int least_rows);

/* target += scale * the sum of sums over its rows, in an order that depends on how many these are alone. */
clf_status clf__chunks_add(struct clf__tensor target, /* (1, C) */
                           struct clf__tensor sums,   /* (chunks, C) */
                           float scale);

#endif
