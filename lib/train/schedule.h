/* The learning rate of each update. */
#ifndef CLF_TRAIN_SCHEDULE_H
#define CLF_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "train/recipe.h"

/* The learning rate of update 1, 2, ...; d_model: D. */
double clf__schedule_rate(const struct clf__settings *settings, int d_model, int64_t update);

#endif
