/* Logits of selected words; each row has its own selection. */
#ifndef CLF_OPS_SHORTLIST_H
#define CLF_OPS_SHORTLIST_H

#include "math/tensor/tensor.h"

/* logits[r][j] = scale * (x[r] . weight[v]) + bias[v] for word v = ids[starts[r] + j]; -inf for j >=
 * counts[r] and for ids outside the vocabulary. The bits of a logit depend only on x[r] and on the word. */
clf_status clf__shortlist_logits(struct clf__tensor logits,           /* (R, C) */
                                 struct clf__tensor x,                /* (R, D) */
                                 struct clf__tensor weight,           /* (V, D) */
                                 const struct clf__buffer *bias,      /* (V), or NULL */
                                 float scale, struct clf__tensor ids, /* (1, n) i32 */
                                 struct clf__tensor starts,           /* (1, R) i32 */
                                 struct clf__tensor counts);          /* (1, R) i32 */

/* Replaces positions in shortlists by words: p = positions[r][j] by ids[starts[r] + p], or by -1 if p is not
 * in 0 .. counts[r] - 1. */
clf_status clf__shortlist_words(struct clf__tensor positions, /* (R, C) i32 */
                                struct clf__tensor ids,       /* (1, n) i32 */
                                struct clf__tensor starts,    /* (1, R) i32 */
                                struct clf__tensor counts);   /* (1, R) i32 */

#endif
