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

/* Enough of them for every core, few enough that adding them up is little beside the sums. */
struct clf__chunks clf__chunks(int rows);

/* target += scale * the sum of sums over its rows, in their order. */
clf_status clf__chunks_add(struct clf__tensor target, /* (1, C) */
                           struct clf__tensor sums,   /* (chunks, C) */
                           float scale);

#endif
