/* The decoder's memory of earlier steps: keys and values stay where they were written; a table says where
 * each hypothesis finds its own history, so that beams are reordered without moving them. */
#ifndef CLF_OPS_CACHE_H
#define CLF_OPS_CACHE_H

#include "tensor/tensor.h"

/* cache[positions[r] * slots_total + slots[r]] = x[r]. */
clf_status clf__cache_append(struct clf__tensor cache,     /* (positions_total * slots_total, W) */
                             struct clf__tensor x,         /* (R, W), may be a column view */
                             struct clf__tensor slots,     /* (1, R) i32 */
                             struct clf__tensor positions, /* (1, R) i32 */
                             int slots_total);

/* next[slots[r]][t] = history[parents[r]][t] for t < positions[r], and next[slots[r]][positions[r]] =
 * slots[r]. */
clf_status clf__cache_follow(struct clf__tensor next,    /* (slots_total, positions_total) i32, not history */
                             struct clf__tensor history, /* (slots_total, positions_total) i32 */
                             struct clf__tensor slots,   /* (1, R) i32 */
                             struct clf__tensor parents, /* (1, R) i32, slots of the step before */
                             struct clf__tensor positions); /* (1, R) i32 */

#endif
