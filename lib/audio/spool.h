/* Descriptors that can be read twice. */
#ifndef CLF_AUDIO_SPOOL_H
#define CLF_AUDIO_SPOOL_H

#include "base/status.h"

/* Opens a file, or standard input for "-"; a pipe is copied to an unnamed temporary file, and *descriptor is
 * that file. The caller closes it. `name` is for messages. */
clf_status clf__spool_open(int *descriptor, const char *path, const char *name);

#endif
