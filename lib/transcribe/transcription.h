/* The state of transcribing one recording, window by window. */
#ifndef CLF_TRANSCRIBE_TRANSCRIPTION_H
#define CLF_TRANSCRIBE_TRANSCRIPTION_H

#include "transcribe/internal.h"

struct clf__transcription {
    struct clf_transcriber *transcriber;
    const struct clf_recordings *recordings;
    int index; /* index of the recording in `recordings` */
    struct clf__windows *windows;
    struct clf_transcript *transcript;
    struct clf__ids said; /* the initial prompt, then the tokens of all segments */
    int forgotten;        /* number of tokens at the start that are no longer part of prompts */
    int capacity;         /* allocated segments */
    int32_t language;
    double *probability; /* receives the probability of the detected language; NULL: not needed */
    double spoken;       /* end of the last words, in seconds */
    int clip;            /* index of the next clip */
    int64_t end;         /* end of the current clip, in frames */
    /* The window. */
    int slot;     /* slot of the window in the session */
    int64_t seek; /* start of the window in frames */
    int size;     /* length of the window in frames */
    struct clf__decoded decoded;
};

/* transcription.c */

/* Measures the recording and detects its language; uses the whole session. The caller frees the
 * transcription, also after a failure. */
clf_status clf__transcription_begin(struct clf__transcription *work, struct clf_audio *audio);
void clf__transcription_free(struct clf__transcription *work);
/* Advances to the next window; returns 0 if there is none. */
int clf__transcription_next(struct clf__transcription *work);
/* Computes the frames of the window at its slot. */
clf_status clf__transcription_take(struct clf__transcription *work);
/* Returns the text tokens of earlier windows. */
struct clf__ids clf__transcription_previous(const struct clf__transcription *work);
/* Adds the decoded window to the transcript and advances. */
clf_status clf__transcription_leave(struct clf__transcription *work);
/* Ends the transcription and returns the transcript, owned by the caller. */
clf_status clf__transcription_end(struct clf__transcription *work, struct clf_transcript **out);

/* segments.c */

/* Splits the decoded tokens into segments and moves to the end of the last segment. */
clf_status clf__transcription_cut(struct clf__transcription *work);
void clf__segment_free(struct clf_segment *segment);

#endif
