/* Transcribes a stream while it is recorded (transcribe --follow). */
#ifndef CLF_TOOLS_FOLLOW_H
#define CLF_TOOLS_FOLLOW_H

#include "shared/command.h"

struct follow;

/* Checks the flags. Returns -1 on success, or an exit status. */
int follow_check(const struct flags *flags);

/* Opens the stream and sets the callbacks of the options. Returns -1 on success, or an exit status. */
int follow_open(struct follow **out, const struct flags *flags, struct clf_transcribe_options *options);

/* Transcribes the stream up to its end or a signal, and prints what is final. Returns the exit status. */
int follow_run(struct follow *follow, struct clf_transcriber *transcriber);

void follow_close(struct follow *follow); /* NULL is ignored */

#endif
