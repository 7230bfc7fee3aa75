/* The state of transcribing one recording, window by window. The thread of the call and the threads that
 * drive lanes use it in turn. */
#ifndef CLF_TRANSCRIBE_TRANSCRIPTION_H
#define CLF_TRANSCRIBE_TRANSCRIPTION_H

#include "transcribe/plan.h"

struct clf__transcription {
    struct clf_transcriber *transcriber;
    const struct clf_recordings *recordings;
    int index;      /* index of the recording in `recordings` */
    int span_count; /* number of `spans` */
    struct clf__audio_windows windows;
    const char *name;                  /* name of the recording, for messages */
    const struct clf__span *spans;     /* the parts of the recording that are transcribed; NULL: all of it */
    int64_t frames;                    /* number of whole frames of the recording with these spans */
    struct clf__plan plan;             /* owns the spans of a recording that is decoded sequentially */
    struct clf_audio *joined;          /* these spans as a recording; NULL: not needed */
    struct clf_transcript *transcript; /* NULL: no recording */
    struct clf__ids said;              /* the initial prompt, then the tokens of all segments */
    int forgotten;                     /* number of tokens at the start that are no longer part of prompts */
    int capacity;                      /* allocated segments */
    int32_t language;                  /* -1: not detected yet */
    int is_measured;                   /* the maximum of its frames is known */
    char *code;                        /* the code of its language */
    int is_detecting;                  /* the window is searched for its language */
    int clip;                          /* index of the next clip */
    double *probability; /* receives the probability of the detected language; NULL: not needed */
    double spoken;       /* end of the last words, in seconds */
    int64_t end;         /* end of the current clip, in frames */
    /* The window. */
    struct clf__window window;
    struct clf__window_samples samples;
    int64_t seek; /* start of the window in frames */
    int size;     /* length of the window in frames */
    struct clf__attempt attempt;
    struct clf__decoded decoded;
    int first_segment; /* index of the first segment of the window */
    int64_t next_seek; /* start of the next window */
    int repeats;       /* the window is decoded again from next_seek */
};

/* transcription.c */

/* Opens recording `index`. */
clf_status clf__recordings_open(struct clf_audio **out, const struct clf_recordings *recordings, int index);
/* Begins a recording; if it consists of spans, the caller sets `name`, `spans` and `frames` afterwards. The
 * caller frees the transcription even after a failure. */
clf_status clf__transcription_begin(struct clf__transcription *work, struct clf_audio *audio);
/* Frees what belongs to the recording; clf__transcription_free() also frees the memory for the next one. */
void clf__transcription_clear(struct clf__transcription *work);
void clf__transcription_free(struct clf__transcription *work);
/* Prepares the next window to measure or search. *has_window receives 0 if there is none. */
clf_status clf__transcription_next(struct clf__transcription *work, int *has_window);
/* Adds the measured or searched window and advances. */
clf_status clf__transcription_leave(struct clf__transcription *work);
/* Ends the transcription and returns the transcript, owned by the caller. */
clf_status clf__transcription_end(struct clf__transcription *work, struct clf_transcript **out);

/* Returns the time in the recording, in seconds, of a time in its spans. is_end: the time is the end of a
 * segment or word. */
static inline double clf__transcription_time(const struct clf__transcription *work, double seconds,
                                             int is_end)
{
    return work->span_count > 0
               ? clf__spans_time(work->spans, clf__spans_find(work->spans, work->span_count, seconds, is_end),
                                 seconds)
               : seconds;
}
/* Prepends the name and the time of the window to the message of a failure. */
clf_status clf__transcription_fail(const struct clf__transcription *work, clf_status status);

/* Returns 1 if the next window detects the language. */
static inline int clf__transcription_needs_language(const struct clf__transcription *work)
{
    return work->transcriber->is_multilingual && work->language < 0;
}
/* Returns 1 if the decoded window is silent. */
static inline int clf__transcription_is_silent(const struct clf__transcription *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    return work->decoded.no_speech > options->no_speech_threshold &&
           !(work->decoded.avg_logprob > options->log_probability_threshold);
}

/* decode.c: the search for the language of the window, and its result. */
clf_status clf__detection_begin(struct clf__transcription *work);
clf_status clf__detection_end(struct clf__transcription *work, const struct clf__whisper_result *result);

/* decode.c: the next attempt to decode the window, and its result. */
clf_status clf__decode_begin(struct clf__transcription *work);
clf_status clf__decode_end(struct clf__transcription *work, const struct clf__whisper_result *result);

/* searches.c: sets the window of a unit to the work of the window: measuring it, detecting its language, or
 * decoding its text at rising temperatures, until the result meets the thresholds or is silence. */
void clf__transcription_search(struct clf__transcription *work, struct clf__unit *unit);

/* segments.c */

/* Splits the decoded tokens into segments and finds the start of the next window. */
clf_status clf__transcription_cut(struct clf__transcription *work, const struct clf__window_place *place);
/* Completes the segments of the window, passes them to the callback, and moves to the next window. */
clf_status clf__transcription_publish(struct clf__transcription *work);
void clf__segment_free(struct clf_segment *segment);

#endif
