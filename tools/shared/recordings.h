/* Transcribes recordings in batches and prints the transcripts in the order of the recordings. */
#ifndef CLF_TOOLS_RECORDINGS_H
#define CLF_TOOLS_RECORDINGS_H

#include "shared/command.h"

/* An additional format after the formats of the library: all formats, each in a separate file. */
#define RECORDINGS_ALL_FORMATS (CLF_TRANSCRIPT_JSON + 1)

/* Returns the number of requested formats, and the first one in *first. */
int recordings_formats(int *first, const struct flags *flags);

/* Returns the path of a transcript in flags->output: the recording's name with the extension of the format.
 */
clf_status recordings_name(char **out, const struct flags *flags, int format, const char *path);

/* Callback for the transcriber: 1 after a signal or when standard output cannot be written. */
int recordings_interrupted(void *unused);

/* Transcribes the operands and prints each segment as soon as all earlier recordings are printed. Returns the
 * exit status. */
int recordings_transcribe(struct clf_transcriber *transcriber, const struct flags *flags);

#endif
