/* The log of a run: one JSON object per line for each update; a validation repeats its update and adds its
 * results. The last line of an update counts. */
#ifndef CLF_TOOLS_TRAIN_LOG_H
#define CLF_TOOLS_TRAIN_LOG_H

#include <jansson.h>
#include <stdio.h>

#include <clformer/train.h>

/* Returns NULL if out of memory. `start` is added to the first line of a run and owned by the caller. */
json_t *log_start(const struct clf_train_start *start, const char *device, const char *output);
json_t *log_update(const struct clf_train_update *update, json_t *start);
/* `update` is the update of the validation; NULL if unknown. */
json_t *log_validation(const struct clf_train_validation *validation, const struct clf_train_update *update);

/* Opens a log for appending and removes the truncated last line of a killed run. Returns NULL after reporting
 * a failure. */
FILE *log_open(const char *path);
/* Writes an object as a line and flushes it. Returns 0 with errno on failure. */
int log_write(FILE *file, const json_t *line);

#endif
