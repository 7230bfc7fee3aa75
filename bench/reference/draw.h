/* Sampling as specified in lib/math/ops/draw.h, in double precision. */
#ifndef CLF_BENCH_REFERENCE_DRAW_H
#define CLF_BENCH_REFERENCE_DRAW_H

#include "search/search.h"

/* Returns the value of an id: logit / temperature plus its Gumbel noise. */
double reference_draw_value(const struct clf__draw *draw, float logit, int32_t id);

/* Draws from one range, ids first to end - 1 of a row of logits. Returns the id with the largest value; -1 if
 * every value is NaN or -inf. */
int32_t reference_draw(double *value, const struct clf__draw *draw, const float *logits, int32_t first,
                       int32_t end);

#endif
