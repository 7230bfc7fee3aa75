/* Sums over segments of rows. */
#ifndef CLF_OPS_SEGMENTS_H
#define CLF_OPS_SEGMENTS_H

#include "math/tensor/tensor.h"

/* y[s] = the sum of the rows segments[s][0] .. segments[s][1] - 1 of x, in their order. Rows outside x
 * count as zeros. */
clf_status clf__segment_sums(struct clf__tensor y,         /* (S, D) */
                             struct clf__tensor x,         /* (N, D) */
                             struct clf__tensor segments); /* (S, 2) i32 */

#endif
