/* The contract of lib/ops/draw.h in double. */
#ifndef CLF_BENCH_REFERENCE_DRAW_H
#define CLF_BENCH_REFERENCE_DRAW_H

#include "search/search.h"

/* The value of an id: its logit / temperature, and the number that belongs to it. */
double reference_draw_value(const struct clf__draw *draw, float logit, int32_t id);

/* One range, ids first .. end - 1 of a row of logits. Returns the id with the largest value; -1 where there
 * is no number. */
int32_t reference_draw(double *value, const struct clf__draw *draw, const float *logits, int32_t first,
                       int32_t end);

#endif
