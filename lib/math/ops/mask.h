/* Attention masks: key counts, causality, hidden keys, and additive and relative biases. */
#ifndef CLF_OPS_MASK_H
#define CLF_OPS_MASK_H

#include "math/tensor/tensor.h"

/* The masks of an attention. Start from CLF__MASK_NONE. Rows outside the ranges of a sequence are never
 * visible. */
struct clf__mask {
    int causal;                     /* query i sees keys j <= i + keys - queries */
    struct clf__tensor hidden_keys; /* (1, key rows) i32, non-zero hides that key row; buffer NULL: none */
    struct clf__tensor
        additive; /* (B * max_queries, max_keys), added to the scaled score; buffer NULL: none */
    struct clf__tensor
        relative; /* (H, 2 R + 1): [h][clamp(j - i, -R, R) + R] is added (T5); buffer NULL: none */
};
/* clang-format off */
#define CLF__MASK_NONE { .causal = 0, .hidden_keys = { .buffer = NULL }, .additive = { .buffer = NULL }, .relative = { .buffer = NULL } }
/* clang-format on */

/* The rows of each sequence of a ragged batch: ranges (B, 4) i32 rows of { first query, queries, first
 * key, keys }. */
struct clf__sequence_ranges {
    struct clf__tensor table; /* (B, 4) i32 */
    int sequences;            /* B */
    int max_queries;          /* the largest query count of the batch */
    int max_keys;
    /* Counted by clf__ranges_count() for the profile; 0: not counted, use the upper bound. */
    double keys;  /* keys of all sequences */
    double pairs; /* pairs of a query and a visible key */
};

/* Counts keys and pairs from a host copy of the table; causal: no sequence has more queries than keys. */
void clf__ranges_count(struct clf__sequence_ranges *ranges, const int32_t *table, int causal);

/* Masks padded scores in place: adds the additive and relative biases to row (b * H + h) * max_queries + i,
 * column j; sets -inf if query i must not see key j, and in all rows i >= queries[b]. */
clf_status clf__mask_forward(struct clf__tensor scores, /* (B * H * max_queries, max_keys) */
                             const struct clf__sequence_ranges *ranges, int heads,
                             const struct clf__mask *mask);

#endif
