/* Transcribing recordings, several at a time, whose transcripts come in the order of the recordings. */
#ifndef CLF_TOOLS_RECORDINGS_H
#define CLF_TOOLS_RECORDINGS_H

#include "shared/command.h"

/* The command's own format, numbered after the library's: each of those, in a file of its own. */
#define RECORDINGS_ALL_FORMATS (CLF_TRANSCRIPT_JSON + 1)

/* How many formats are asked for, and the first of them. */
int recordings_formats(int *first, const struct flags *flags);

/* The file of a recording's transcript, in flags->output: the recording's name with the format's ending. */
clf_status recordings_name(char **out, const struct flags *flags, int format, const char *path);

/* For a transcriber's options: stops it on a signal, and where standard output takes no more. */
int recordings_interrupted(void *unused);

/* Transcribes the operands; text comes segment by segment where its turn is. Returns the exit status. */
int recordings_transcribe(struct clf_transcriber *transcriber, const struct flags *flags);

#endif
