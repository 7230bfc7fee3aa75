/* Sums of stage times. */
#ifndef CLF_ENGINE_TIMES_H
#define CLF_ENGINE_TIMES_H

#include <clformer/translator.h>

/* Adds every time and count. */
void clf__times_add(struct clf_stage_times *sum, const struct clf_stage_times *times);

#endif
