/* Embedding lookup and its gradient. */
#ifndef CLF_OPS_EMBEDDING_H
#define CLF_OPS_EMBEDDING_H

#include <stdint.h>

#include "math/tensor/tensor.h"

/* y[n] = scale * E[ids[n]] + table[positions[n]], with the same bits as a separate
 * clf__positions_forward(). The matrix may be the packed weight of the output projection. The caller checks
 * the ids; the kernel returns a row of zeros for an id out of range. A position outside the table adds
 * nothing; table.buffer NULL: none. */
clf_status clf__embedding_forward(struct clf__tensor y,                  /* (N, D) */
                                  struct clf__tensor ids,                /* (1, N) i32 */
                                  const struct clf__weight *weight,      /* (V, D) */
                                  float scale, struct clf__tensor table, /* (P, D) */
                                  struct clf__tensor positions);         /* (1, N) i32 */

/* The rows of a batch grouped by id, which lets one work-group sum each row of a gradient, in the order of
 * n: distinct id u has the rows order[first[u]] .. order[first[u + 1] - 1], ascending. */
struct clf__id_groups {
    struct clf__tensor distinct; /* (1, U) i32, ascending */
    struct clf__tensor first;    /* (1, U + 1) i32 */
    struct clf__tensor order;    /* (1, N) i32 */
};
/* Groups `count` ids (>= 0): fills host arrays of at most count, count + 1 and count integers, and outputs
 * the number of distinct ids. */
clf_status clf__gather_ids(int32_t *distinct, int32_t *first, int32_t *order, int *distinct_count,
                           const int32_t *ids, int count);

/* dE[id] += scale * the sum of dy over the rows of id. */
clf_status clf__embedding_backward(struct clf__weight *dweight, /* (V, D) fp32 */
                                   struct clf__tensor dy,       /* (N, D) */
                                   const struct clf__id_groups *id_groups, float scale);

#endif
