/* The learning rate of each update. */
#ifndef CLF_TRAIN_SCHEDULE_H
#define CLF_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "train/recipe.h"

struct clf__schedule {
    enum clf__schedule_kind kind;
    double peak, initial; /* at the end of the warm-up, and before it; noam has neither */
    double factor;        /* of noam */
    int64_t warm_up;      /* updates */
    int64_t last;         /* of linear, which is zero after it */
    int d_model;          /* D, of noam */
    int counts_done;      /* noam goes by the updates that are done, 0 of them taken for 1 */
};

struct clf__schedule clf__schedule_of(const struct clf__settings *settings, int d_model);

/* The rate of update 1, 2, ... */
double clf__schedule_rate(const struct clf__schedule *schedule, int64_t update);

#endif
