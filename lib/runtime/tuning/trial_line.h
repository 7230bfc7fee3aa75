/* The line by which trials report their result, in cache files and between processes: a result of the kind of
 * trial, or "failed" or "retry" with a reason. */
#ifndef CLF_TUNING_TRIAL_LINE_H
#define CLF_TUNING_TRIAL_LINE_H

#include "base/status.h"

/* The largest reason of a failure, with its end. */
enum { CLF__TRIAL_FAILURE = 512 };

/* Copies a reason; characters that would end the line become spaces. */
void clf__trial_copy_failure(char out[CLF__TRIAL_FAILURE], const char *reason);

/* Formats a failure as a line; the caller frees *out. is_lasting: a later trial would
 * fail as well. */
clf_status clf__trial_format_failure(char **out, const char *failure, int is_lasting);

/* Returns the last line of a text; NULL if it does not end with a newline. */
const char *clf__trial_last_line(const char *text);

/* Reads a line of clf__trial_format_failure(); returns 0 for any other line. */
int clf__trial_parse_failure(char out[CLF__TRIAL_FAILURE], int *is_lasting, const char *line);

#endif
