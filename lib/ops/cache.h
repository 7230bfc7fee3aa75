/* The decoder's memory of earlier steps: keys and values stay where they were written; a table says where
 * each hypothesis finds its own history, so that beams are reordered without moving them. */
#ifndef CLF_OPS_CACHE_H
#define CLF_OPS_CACHE_H

#include "tensor/tensor.h"

/* cache[places[r]] = x[r]; a place outside the cache is passed over. */
clf_status clf__cache_place(struct clf__tensor cache,   /* (N, W) */
                            struct clf__tensor x,       /* (R, W), may be a column view */
                            struct clf__tensor places); /* (1, R) i32 */

/* next[cache_rows[r]][t] = history[parents[r]][t] for t < positions[r], and next[cache_rows[r]][positions[r]]
 * = cache_rows[r]. */
clf_status clf__cache_follow(struct clf__tensor next,       /* (cache rows, positions) i32, not history */
                             struct clf__tensor history,    /* (cache rows, positions) i32 */
                             struct clf__tensor cache_rows, /* (1, R) i32 */
                             struct clf__tensor parents,    /* (1, R) i32, cache rows of the step before */
                             struct clf__tensor positions); /* (1, R) i32 */

#endif
