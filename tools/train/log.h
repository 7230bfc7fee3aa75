/* The log of a run: one JSON object in each line, for an update; a validation repeats its update, with
 * what it found beside. Of several lines of an update the last counts. */
#ifndef CLF_TOOLS_TRAIN_LOG_H
#define CLF_TOOLS_TRAIN_LOG_H

#include <jansson.h>
#include <stdio.h>

#include <clformer/train.h>

/* NULL where memory ran out. `start` is added to the first line of a run; the caller keeps it. */
json_t *log_start(const struct clf_train_start *start, const char *device, const char *output);
json_t *log_update(const struct clf_train_update *update, json_t *start);
/* `update` is what the update was that is validated; NULL where nobody knows. */
json_t *log_validation(const struct clf_train_validation *validation, const struct clf_train_update *update);

/* Opens a log to append to. What a killed run left of a line is cut off. Returns NULL having said why. */
FILE *log_open(const char *path);
/* One object as a line that is flushed at once. Returns 0 where it could not be written, errno says why. */
int log_write(FILE *file, const json_t *line);

#endif
