/* The state of transcribing one recording, window by window. */
#ifndef CLF_TRANSCRIBE_WORK_H
#define CLF_TRANSCRIBE_WORK_H

#include "transcribe/internal.h"

struct clf__work {
    struct clf_transcriber *transcriber;
    const struct clf_recordings *recordings;
    int index; /* index of the recording in `recordings` */
    struct clf__windows *windows;
    struct clf_transcript *transcript;
    struct clf__ids said; /* the initial prompt, then the tokens of all segments */
    int forgotten;        /* number of tokens at the start that are no longer part of prompts */
    int capacity;         /* allocated segments */
    int32_t language;
    double spoken; /* end of the last words, in seconds */
    int clip;      /* index of the next clip */
    int64_t end;   /* end of the current clip, in frames */
    /* The window. */
    int slot;     /* slot of the window in the session */
    int64_t seek; /* start of the window in frames */
    int size;     /* length of the window in frames */
    struct clf__decoded decoded;
};

/* work.c */

/* Measures the recording and detects its language; uses the whole session. The caller frees the work, also
 * after a failure. */
clf_status clf__work_begin(struct clf__work *work, struct clf_audio *audio);
void clf__work_free(struct clf__work *work);
/* Advances to the next window; returns 0 if there is none. */
int clf__work_next(struct clf__work *work);
/* Computes the frames of the window at its slot. */
clf_status clf__work_take(struct clf__work *work);
/* Returns the text tokens of earlier windows. */
struct clf__ids clf__work_previous(const struct clf__work *work);
/* Adds the decoded window to the transcript and advances. */
clf_status clf__work_leave(struct clf__work *work);
/* Ends the work and returns the transcript, owned by the caller. */
clf_status clf__work_end(struct clf__work *work, struct clf_transcript **out);

/* segments.c */

/* Splits the decoded tokens into segments and moves to the end of the last segment. */
clf_status clf__work_cut(struct clf__work *work);
void clf__segment_free(struct clf_segment *segment);

#endif
