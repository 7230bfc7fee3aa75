/* The learning rate of each update. */
#ifndef CLF_TRAIN_SCHEDULE_H
#define CLF_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "train/recipe.h"

/* Returns the learning rate of an update, counted from 1. d_model: D. */
double clf__schedule_rate(const struct clf__settings *settings, int d_model, int64_t update);

#endif
