/* The decoder's KV cache. Entries never move; a table maps each hypothesis to its history, so reordering
 * beams copies no keys or values. */
#ifndef CLF_OPS_CACHE_H
#define CLF_OPS_CACHE_H

#include "math/ops/mask.h"
#include "math/tensor/tensor.h"

/* Returns the type of cached keys and values for a weight precision: halves for int8, whose GEMMs round
 * their inputs much more coarsely anyway. fp16 and bf16 cache floats, to give the same results as fp32
 * with the same weights. */
enum clf__type clf__cache_type(enum clf__precision precision);

/* Returns the build option of programs that access this cache. */
static inline const char *clf__cache_define(struct clf__tensor cache)
{
    return cache.type == CLF__F16 ? " -DHALF_CACHE" : "";
}

/* cache[places[r]] = x[r]; places outside the cache are skipped. */
clf_status clf__cache_place(struct clf__tensor cache,   /* (N, W) f32 or f16 */
                            struct clf__tensor x,       /* (R, W), may be a column view */
                            struct clf__tensor places); /* (1, R) i32 */

/* x[t] = cache[t] for the keys t of each sequence; sequences that share keys must be adjacent. */
clf_status clf__cache_widen(struct clf__tensor x,     /* (N, W) */
                            struct clf__tensor cache, /* (N, W) f16 */
                            const struct clf__sequence_ranges *ranges);

/* next[cache_rows[r]][t] = history[parents[r]][t] for t < positions[r], and next[cache_rows[r]][positions[r]]
 * = cache_rows[r]. */
clf_status clf__cache_follow(struct clf__tensor next,       /* (cache rows, positions) i32; must not be
                                                             * `history` */
                             struct clf__tensor history,    /* (cache rows, positions) i32 */
                             struct clf__tensor cache_rows, /* (1, R) i32 */
                             struct clf__tensor parents,    /* (1, R) i32, cache rows of the previous step */
                             struct clf__tensor positions); /* (1, R) i32 */

#endif
