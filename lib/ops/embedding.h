/* Rows of an embedding matrix. */
#ifndef CLF_OPS_EMBEDDING_H
#define CLF_OPS_EMBEDDING_H

#include "tensor/tensor.h"

/* y[n] = scale * E[ids[n]]. The matrix may be the output projection's packed weight. Ids are checked by the
 * caller against the weight's outputs; the kernel guards them too (an id out of range gives a row of zeros).
 */
clf_status clf__embedding_forward(struct clf__tensor y,             /* (N, D) */
                                  struct clf__tensor ids,           /* (1, N) i32 */
                                  const struct clf__weight *weight, /* (V, D) */
                                  float scale);

/* y[n] = scale * E[ids[n]] + table[positions[n]], the bits of clf__positions_forward() behind the former. A
 * position outside the table adds nothing; table.buffer NULL: none. */
clf_status clf__embedding_positions_forward(struct clf__tensor y,   /* (N, D) */
                                            struct clf__tensor ids, /* (1, N) i32 */
                                            const struct clf__weight *weight, float scale,
                                            struct clf__tensor table,      /* (P, D) */
                                            struct clf__tensor positions); /* (1, N) i32 */

#endif
