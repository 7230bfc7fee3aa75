/* Descriptors that can be read twice. */
#ifndef CLF_AUDIO_SPOOL_H
#define CLF_AUDIO_SPOOL_H

#include "base/status.h"

/* Opens a file, or standard input for "-"; what is a pipe is copied to a temporary file without a name, which
 * *descriptor is then. The caller closes it. `name` is for messages. */
clf_status clf__spool_open(int *descriptor, const char *path, const char *name);

#endif
