/* Transcribes parts of recordings side by side (clf_transcribe_options.batch_windows). */
#ifndef CLF_TRANSCRIBE_SIDE_BY_SIDE_H
#define CLF_TRANSCRIBE_SIDE_BY_SIDE_H

#include "transcribe/transcription.h"

/* Does what clf_transcribe_several() does. */
clf_status clf__transcribe_side_by_side(struct clf_transcriber *transcriber,
                                        const struct clf_recordings *recordings,
                                        const struct clf_translate_options *hooks);

#endif
