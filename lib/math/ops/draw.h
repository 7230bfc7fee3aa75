/* Samples ids from ranges of rows of logits. */
#ifndef CLF_OPS_DRAW_H
#define CLF_OPS_DRAW_H

#include "math/tensor/tensor.h"

#define CLF__DRAW_WORDS 6 /* words of struct clf__draw (search/search.h) */

/* Samples by softmax(logits / temperature) with the Gumbel-max trick (Maddison et al. 2014, "A* Sampling",
 * 2): finds the id with the largest logit / temperature + g for each draw and range, where the Gumbel
 * noise g depends on draw and id. Outputs that value, the id and its logit, or (-inf, -1, -inf) if the
 * range has only -inf and NaN. The id with the largest value over several ranges is the sample from all of
 * them. Ranges are defined as in clf__top_k_ranges(). Draws number the rows of the logits starting with
 * `first_row`. */
clf_status clf__draw_forward(struct clf__tensor values, /* (D, M) */
                             struct clf__tensor ids,    /* (D, M) i32 */
                             struct clf__tensor found,  /* (D, M): the ids' logits */
                             struct clf__tensor logits, /* (R, V) */
                             struct clf__tensor ranges, /* (R, 2 M) i32 */
                             struct clf__tensor draws,  /* (D, CLF__DRAW_WORDS) i32 */
                             int first_row);

#endif
