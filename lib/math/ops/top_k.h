/* The best candidates of each row of logits, and the statistics that turn a logit into a log-probability. */
#ifndef CLF_OPS_TOP_K_H
#define CLF_OPS_TOP_K_H

#include "math/tensor/tensor.h"

#define CLF__TOP_K_LIMIT 256 /* maximum number of candidates per row */

/* Returns CLF_UNSUPPORTED if k is out of range. */
clf_status clf__top_k_check(int k);

/* Selects the k largest logits of each row, largest first, ties by ascending id. The banned ids are set to
 * -inf in `logits` first. NaN and -inf are not selected; missing entries are (-inf, -1). statistics[r] = {
 * max, log sum exp(x - max) } before and after banning; if `both` is 0, both pairs describe the row after
 * banning (saves a pass). A log-probability is (logit - max) - log_sum. A logit that is NaN or +inf makes
 * the log sum NaN. */
clf_status clf__top_k_forward(
    struct clf__tensor values,         /* (R, k) */
    struct clf__tensor ids,            /* (R, k) i32 */
    struct clf__tensor statistics,     /* (R, 4) */
    struct clf__tensor logits,         /* (R, V) */
    struct clf__tensor banned,         /* (1, n) i32: concatenated lists of ids */
    struct clf__tensor banned_offsets, /* (1, R + 1) i32: row r bans [offsets[r], offsets[r+1]) */
    int both);

/* Selects the k best ids, with statistics, within ranges of each row: range m of row r holds ids first ..
 * end - 1, (first, end) = ranges[r][2 m], ranges[r][2 m + 1]. Ranges are clipped to the row; an empty
 * range, or one with only -inf, gives (-inf, -1) and { -inf, -inf }. No ids are banned. */
clf_status clf__top_k_ranges(struct clf__tensor values,     /* (R, M k) */
                             struct clf__tensor ids,        /* (R, M k) i32 */
                             struct clf__tensor statistics, /* (R, 2 M): max, log sum exp(x - max) */
                             struct clf__tensor logits,     /* (R, V) */
                             struct clf__tensor ranges);    /* (R, 2 M) i32 */

#endif
