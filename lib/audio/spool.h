/* Descriptors that can be read repeatedly. */
#ifndef CLF_AUDIO_SPOOL_H
#define CLF_AUDIO_SPOOL_H

#include "base/status.h"

/* Opens a file, or standard input for "-". A pipe is copied to an unnamed temporary file, which *descriptor
 * then refers to. The caller closes *descriptor. `name` is for messages. */
clf_status clf__spool_open(int *descriptor, const char *path, const char *name);

#endif
