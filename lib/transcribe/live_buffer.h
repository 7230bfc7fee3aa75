/* The buffer of a live transcription: when it is transcribed, which words are final, and what it keeps. */
#ifndef CLF_TRANSCRIBE_LIVE_BUFFER_H
#define CLF_TRANSCRIBE_LIVE_BUFFER_H

#include "audio/vad/speech_stream.h"
#include "transcribe/live_events.h"

/* What is transcribed. */
struct clf__live_request {
    const float *samples; /* (count) */
    int count;            /* 1 to 30 s */
    const char *before;   /* the last final text before the samples; "": none */
    int has_final;        /* words are final already, in the samples or before them */
};

/* Transcribes samples; the words of the transcript have times. The caller frees *out. */
typedef clf_status clf__live_transcribe(struct clf_transcript **out, const struct clf__live_request *request,
                                        void *context);

struct clf__live_buffer {
    clf__live_transcribe *transcribe;
    void *context;
    int step; /* samples, at most 10 s */
    int emits_unstable;
    struct clf__speech_stream *speech; /* owned; NULL: no voice activity detection */
    int pad;                           /* samples of silence on each side of speech */
    float *samples;                    /* owned; 30 s */
    int count;                         /* number of samples; with the next step at most 30 s */
    int64_t first;                     /* index of the first sample in the stream */
    int64_t next;                      /* end of the current step in the stream */
    int64_t decoded;                   /* end of the audio of the last hypothesis */
    double *cuts; /* (cut_count) ends of segments and sentences of the hypothesis, except the last */
    int cut_count, cut_capacity;
    double before_last; /* end of its next-to-last word; negative: none */
    struct clf__agreement agreement;
    struct clf__live_events events;
    char *language; /* of the last hypothesis */
};

/* Allocates the samples; the caller has set `transcribe` to `pad`, and zeroed the rest. */
clf_status clf__live_buffer_begin(struct clf__live_buffer *buffer);
void clf__live_buffer_free(struct clf__live_buffer *buffer);

/* Adds finite samples; `waiting`: see clf_live_feed(). */
clf_status clf__live_buffer_feed(struct clf__live_buffer *buffer, const float *samples, size_t count,
                                 size_t waiting);
clf_status clf__live_buffer_finish(struct clf__live_buffer *buffer);

/* Returns the seconds of audio that were added. */
double clf__live_buffer_received(const struct clf__live_buffer *buffer);

#endif
