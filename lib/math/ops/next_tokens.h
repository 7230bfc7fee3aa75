/* Passes the tokens that a decoding step chose on to the next step, without the host. */
#ifndef CLF_OPS_NEXT_TOKENS_H
#define CLF_OPS_NEXT_TOKENS_H

#include "math/tensor/tensor.h"

/* For each row r with 0 <= from[r] < R': tokens[r] = chosen[from[r]][0]; if that is `pad`, positions[r] =
 * pad_position. The other elements do not change. A pad below -1 is never a token. */
clf_status clf__next_tokens(struct clf__tensor tokens,    /* (1, R) i32 */
                            struct clf__tensor positions, /* (1, R) i32 */
                            struct clf__tensor chosen,    /* (R', k) i32 */
                            struct clf__tensor from,      /* (1, R) i32 */
                            int pad, int pad_position);

#endif
