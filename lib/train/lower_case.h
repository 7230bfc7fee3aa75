/* Lower case of any script, as Python's str.lower() has it. */
#ifndef CLF_TRAIN_LOWER_CASE_H
#define CLF_TRAIN_LOWER_CASE_H

#include "base/status.h"

/* The lower case of valid UTF-8; the caller frees *out. */
clf_status clf__lower_case(char **out, const char *text);

#endif
