/* The language of a recording, without its transcript. */
#ifndef CLF_TRANSCRIBE_DETECT_H
#define CLF_TRANSCRIBE_DETECT_H

#include <clformer/transcriber.h>

/* Returns the language of the transcriber, or else detects that of the first 30 s of a recording; the caller
 * frees *code with clf_string_free(). A language that is not detected has probability 1. One call at a time,
 * like clf_transcribe(). */
clf_status clf__transcriber_detect(char **code, double *probability, struct clf_transcriber *transcriber,
                                   struct clf_audio *audio);

#endif
