/* Masks of attention scores: key count, causality, hidden keys and an additive mask. */
#ifndef CLF_OPS_MASK_H
#define CLF_OPS_MASK_H

#include "tensor/tensor.h"

/* The masks of an attention. Start from CLF__MASK_NONE. Sequence b's queries are rows first_query[b] ..
 * +queries[b]-1 of the query matrix, its keys likewise; padding beyond them is never visible. */
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
    /* For the profile, by clf__ranges_count(); 0: not counted, and the upper bound is used. */
    double keys;  /* of all sequences */
    double pairs; /* pairs of a query and a key that it may see */
};

/* Counts keys and pairs from a host copy of the table; causal: no sequence has more queries than keys. */
void clf__ranges_count(struct clf__sequence_ranges *ranges, const int32_t *table, int causal);

/* In place on padded scores: row (b * H + h) * max_queries + i, column j gets the additive and relative
 * terms, and -inf where the query must not look (rows i >= queries[b] wholly). */
clf_status clf__mask_forward(struct clf__tensor scores, /* (B * H * max_queries, max_keys) */
                             const struct clf__sequence_ranges *ranges, int heads,
                             const struct clf__mask *mask);

#endif
