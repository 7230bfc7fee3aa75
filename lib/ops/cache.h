/* The decoder's memory of earlier steps: keys and values stay where they were written; a table says where
 * each hypothesis finds its own history, so that beams are reordered without moving them. */
#ifndef CLF_OPS_CACHE_H
#define CLF_OPS_CACHE_H

#include "ops/mask.h"
#include "tensor/tensor.h"

/* The type of the keys and values that layers with weights of this precision keep: halves with int8, whose
 * products round what they read much more. fp16 computes what fp32 does with the same weights, and keeps
 * floats as that does; so does bf16. */
enum clf__type clf__cache_type(clf_precision precision);

/* What a program that reads or writes such a cache is built with. */
static inline const char *clf__cache_define(struct clf__tensor cache)
{
    return cache.type == CLF__F16 ? " -DHALF_CACHE" : "";
}

/* cache[places[r]] = x[r]; a place outside the cache is passed over. */
clf_status clf__cache_place(struct clf__tensor cache,   /* (N, W) f32 or f16 */
                            struct clf__tensor x,       /* (R, W), may be a column view */
                            struct clf__tensor places); /* (1, R) i32 */

/* x[t] = cache[t] for the keys t of each sequence; sequences that share them lie side by side. */
clf_status clf__cache_widen(struct clf__tensor x,     /* (N, W) */
                            struct clf__tensor cache, /* (N, W) f16 */
                            const struct clf__sequence_ranges *ranges);

/* next[cache_rows[r]][t] = history[parents[r]][t] for t < positions[r], and next[cache_rows[r]][positions[r]]
 * = cache_rows[r]. */
clf_status clf__cache_follow(struct clf__tensor next,       /* (cache rows, positions) i32, not history */
                             struct clf__tensor history,    /* (cache rows, positions) i32 */
                             struct clf__tensor cache_rows, /* (1, R) i32 */
                             struct clf__tensor parents,    /* (1, R) i32, cache rows of the step before */
                             struct clf__tensor positions); /* (1, R) i32 */

#endif
