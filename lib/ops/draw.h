/* Ids drawn from ranges of rows of logits. */
#ifndef CLF_OPS_DRAW_H
#define CLF_OPS_DRAW_H

#include "tensor/tensor.h"

#define CLF__DRAW_WORDS 6 /* of struct clf__draw (search/search.h) */

/* Of each draw and range the id with the largest logit / temperature + g, g a number of Gumbel's distribution
 * that follows from the draw and the id, which draws by softmax(logits / temperature) (Maddison et al. 2014,
 * "A* Sampling", 2): that value, the id and its logit, or (-inf, -1, -inf) where the range holds no number.
 * Of several ranges the id with the largest value is drawn from all of them. Ranges as clf__top_k_ranges()
 * has them; a draw's row is one of the logits', counted from `first_row`. */
clf_status clf__draw_forward(struct clf__tensor values, /* (D, M) */
                             struct clf__tensor ids,    /* (D, M) i32 */
                             struct clf__tensor found,  /* (D, M): the ids' logits */
                             struct clf__tensor logits, /* (R, V) */
                             struct clf__tensor ranges, /* (R, 2 M) i32 */
                             struct clf__tensor draws,  /* (D, CLF__DRAW_WORDS) i32 */
                             int first_row);

#endif
