/* Transcribing live audio: samples are added while they are recorded, and words are returned as soon as they
 * are final. */
#ifndef CLFORMER_LIVE_H
#define CLFORMER_LIVE_H

#include <stddef.h>

#include <clformer/status.h>
#include <clformer/transcriber.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A live transcription by LocalAgreement-2 (Macháček et al. 2023, "Turning Whisper into Real-Time
 * Transcription System"). A buffer of at most 30 s of audio is transcribed again after each `step` seconds of
 * new audio. The words that the beginnings of two consecutive hypotheses have in common are final: they are
 * returned once and never change. The buffer then begins at the end of a segment of final words, or, with
 * voice activity detection, at the speech after a pause. If the buffer becomes full, the words of its oldest
 * segment are final. Memory does not grow with the length of the stream.
 *
 * The events depend only on the samples, the options and `waiting`, not on time or on the number of samples
 * in a call. One thread at a time may use a live transcription; different ones share the batches of the
 * engine. */
struct clf_live;

/* Options of a live transcription; start from clf_live_options_init(). */
struct clf_live_options {
    size_t size;  /* size of this struct, see clformer.h */
    double step;  /* default 1: seconds of new audio after which the buffer is transcribed again, 0.1 to 10.
                     Words are final after about two steps */
    int unstable; /* 1: the words after the final ones are also returned, as events of CLF_LIVE_UNSTABLE */
    int reserved; /* 0 */
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_live_options_init_sized(struct clf_live_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_live_options_init(struct clf_live_options *options)
{
    clf_live_options_init_sized(options, sizeof *options);
}

/* Kinds of events. */
typedef enum clf_live_kind {
    CLF_LIVE_WORDS = 0,    /* final words: the next part of the current segment */
    CLF_LIVE_SEGMENT = 1,  /* all words of a segment, which is at most a sentence and whose end is known now;
                              earlier events of CLF_LIVE_WORDS have the same words */
    CLF_LIVE_UNSTABLE = 2, /* the words after all final words, which may change; they replace those of the
                              previous event of this kind, and may be empty */
} clf_live_kind;

/* An event. Times are in seconds of the stream. */
struct clf_live_event {
    size_t size; /* size of this struct in the library, see clformer.h */
    clf_live_kind kind;
    int word_count;
    const char *text;  /* the text of the words, usually with a leading space; the texts of all events of
                          CLF_LIVE_WORDS form the transcript, as do those of CLF_LIVE_SEGMENT */
    double start, end; /* start of the first word and end of the last one */
    const struct clf_word *words; /* (word_count) */
    const char *language;         /* language code */
    double received;              /* seconds of audio that were added before the event */
};

/**
 * Opens a live transcription. With `vad` in the options of the transcriber, only speech is decoded; speech
 * ends at a silence of `vad_min_silence_duration_ms`, by default 500, and its words are then final;
 * `vad_max_speech_duration_s` has no effect. Without a language in the options, the language is detected
 * until words are final, and with `multilingual` it is detected at each transcription of the buffer. The
 * initial prompt is replaced by the last 200 characters of final text, of which the audio is no longer in the
 * buffer, unless `condition_on_previous` is 0. `segment` and `progress` are not called, `interrupted` is.
 *
 * @param out receives the live transcription; free it with clf_live_free() before the transcriber.
 * @param transcriber the options and the model; borrowed until the live transcription is freed.
 * @param options NULL for the defaults.
 * @return CLF_BAD_ARGUMENT for a NULL pointer, a step that is out of range, or options of the transcriber
 * that cannot be used for live audio: clips, batch_windows, prefix, timestamps 0; otherwise the errors of
 *         clf_transcriber_create_shared().
 */
CLF_API clf_status clf_live_open(struct clf_live **out, struct clf_transcriber *transcriber,
                                 const struct clf_live_options *options);

/**
 * Adds samples, and transcribes the buffer for each step that they complete, which takes as long as the
 * transcription of a window. Take the events afterwards with clf_live_take().
 *
 * @param live the live transcription.
 * @param samples (count) mono samples at CLF_AUDIO_RATE; not used after the call. Values outside -1 to 1 are
 *     clipped.
 * @param count number of samples.
 * @param waiting number of samples that have already been recorded after these. While this is a step or more,
 *     the buffer is transcribed only if it is full, so that a slow device keeps up; no audio is lost. 0
 *     transcribes the buffer at each step.
 * @return CLF_FORMAT for a sample that is NaN or infinite, in which case no sample is added; CLF_BAD_ARGUMENT
 *         for a NULL pointer or after clf_live_finish(); the errors of clf_transcribe(), after which only
 *         clf_live_take() and clf_live_free() may be called.
 */
CLF_API clf_status clf_live_feed(struct clf_live *live, const float *samples, size_t count, size_t waiting);

/** Ends the stream: transcribes the rest of the audio, whose words are then final, and ends the last segment.
 * Returns the errors of clf_live_feed(). */
CLF_API clf_status clf_live_finish(struct clf_live *live);

/** Returns the next event, or NULL if there is none. The event is owned by the library and valid until the
 * next call with this live transcription. */
CLF_API const struct clf_live_event *clf_live_take(struct clf_live *live);

/** Frees a live transcription and its events; NULL is ignored. */
CLF_API void clf_live_free(struct clf_live *live);

#ifdef __cplusplus
}
#endif
#endif
