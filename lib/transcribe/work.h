/* A recording that is transcribed, window by window. */
#ifndef CLF_TRANSCRIBE_WORK_H
#define CLF_TRANSCRIBE_WORK_H

#include "transcribe/internal.h"

struct clf__work {
    struct clf_transcriber *transcriber;
    const struct clf_recordings *recordings;
    int index; /* among these */
    struct clf__windows *windows;
    struct clf_transcript *transcript;
    struct clf__ids said; /* the prompt, then the tokens of all segments */
    int forgotten;        /* so many of them are no longer a prompt */
    int capacity;         /* of segments */
    int32_t language;
    double spoken; /* where the last words ended, in seconds */
    int clip;      /* the next one */
    int64_t end;   /* of the one that is worked on, in frames */
    /* The window. */
    int slot;     /* in the session */
    int64_t seek; /* frames */
    int size;     /* likewise */
    struct clf__decoded decoded;
};

/* work.c */

/* Reads the recording through once, and finds its language; the session is the work's alone. What was begun
 * is freed, also where that failed. */
clf_status clf__work_begin(struct clf__work *work, struct clf_audio *audio);
void clf__work_free(struct clf__work *work);
/* Whether there is another window, which it goes to. */
int clf__work_next(struct clf__work *work);
/* Puts the frames of the window at its slot. */
clf_status clf__work_take(struct clf__work *work);
/* What was said before the window. */
struct clf__ids clf__work_previous(const struct clf__work *work);
/* Goes on behind the window, which was decoded. */
clf_status clf__work_leave(struct clf__work *work);
/* The transcript, whole; it is the caller's. */
clf_status clf__work_end(struct clf__work *work, struct clf_transcript **out);

/* segments.c */

/* Cuts what was said into segments, and goes on behind the last of them. */
clf_status clf__work_cut(struct clf__work *work);
void clf__segment_free(struct clf_segment *segment);

#endif
