/* Internal structures of the transcriber. */
#ifndef CLF_TRANSCRIBE_INTERNAL_H
#define CLF_TRANSCRIBE_INTERNAL_H

#include <clformer/transcriber.h>
#include <stdatomic.h>

#include "audio/window_maker.h"
#include "engine/engine.h"
#include "model/model.h"
#include "search/whisper.h"
#include "text/tokenizers/speech.h"
#include "transcribe/timed_words.h"

enum {
    CLF__FRAMES_A_SECOND = 100,
    CLF__FRAMES_A_TIMESTAMP = 2,
    CLF__MOST_RECORDINGS = 64, /* maximum recordings transcribed concurrently */
};

/* Seconds between timestamps: openai/whisper's constant; n * 0.02 is not always equal to n / 50. */
#define CLF__TIMESTAMP_STEP 0.02

/* Punctuation joined to the following word, and to the preceding word (openai/whisper's defaults). */
#define CLF__PREPENDED "\"'“¿([{-"
#define CLF__APPENDED  "\"'.。,，!！?？:：”)]}、"

/* A recording that is read window by window. */
struct clf__audio_windows {
    struct clf_audio *audio;
    float *samples; /* (CLF__CHUNK_SAMPLES), followed by zeros after the end; NULL: not allocated */
    int64_t first;  /* index of the first sample of `samples` in the recording */
    int count;      /* number of valid samples there */
    int ended;      /* the recording has no samples after these */
    int64_t total;  /* length of the recording in samples; set by clf__audio_windows_end_measure() */
    int64_t frames; /* number of whole frames */
    float peak;     /* maximum of the unscaled frames */
};

/* Begins a recording; the caller frees windows->samples, also after a failure. */
clf_status clf__audio_windows_begin(struct clf__audio_windows *windows, struct clf_audio *audio);
/* A recording is measured by reading its windows from the first, while there are frames from `first` on; the
 * caller computes the peak. At the end, its length is known and it begins again. */
int clf__audio_windows_has(const struct clf__audio_windows *windows, int64_t first);
clf_status clf__audio_windows_end_measure(struct clf__audio_windows *windows);
/* Reads the samples of the window that starts at frame `first`; they are valid until the next call. Going
 * back to an earlier window rereads the recording from the beginning. */
clf_status clf__audio_windows_read(struct clf__window_samples *out, struct clf__audio_windows *windows,
                                   int64_t first);

struct clf__silero;

struct clf_transcriber {
    struct clf_engine *engine;
    int owns_engine;
    struct clf_model *model;
    struct clf_transcribe_options options;
    struct clf__speech_tokens tokens;
    int is_multilingual;
    int32_t language;                             /* the requested language, or -1 */
    struct clf__ids suppressed, suppressed_first; /* ascending */
    struct clf__ids prompt, prefix, hotwords;     /* encoded texts of the options */
    struct clf__silero *vad_network;              /* NULL: voice activity detection is built-in, or off */
    struct clf__window_capacity capacity;         /* that a window needs */
    int most_tokens;                              /* maximum tokens of a window, including the end token */
    int text_only;          /* for benchmarks: windows without timestamps generate most_tokens text tokens */
    atomic_llong generated; /* total tokens generated, without end tokens */
    atomic_int calls;       /* running calls */
};

/* Replaces the initial prompt of a transcriber without running calls; NULL: none. Returns CLF_TEXT if the
 * text contains special tokens. */
clf_status clf__transcriber_set_prompt(struct clf_transcriber *transcriber, const char *text);

/* The decoded tokens of a window. */
struct clf__decoded {
    const int32_t *ids; /* owned by the Whisper search */
    int count;
    double temperature; /* temperature of the last decoding attempt */
    double avg_logprob, no_speech, compression_ratio;
    int has_failed;    /* decoding gave no ids */
    int is_not_finite; /* the model computed NaN or infinity */
};
/* An attempt to decode a window. */
struct clf__attempt {
    int number; /* index of the temperature */
    double temperature;
    struct clf__whisper_rules rules;
    struct clf__ids prompt;
};
/* Maximum number of tokens in a prompt for hotwords and for the text of earlier windows: each at most half of
 * the positions. With hotwords, `previous` is reduced to leave a quarter for the window's own text. */
struct clf__room {
    int hotwords, previous;
};
struct clf__room clf__room_before(const struct clf_transcriber *transcriber);
/* Return the number of temperatures, and the temperature at an index. */
int clf__temperature_count(const struct clf_transcribe_options *options);
double clf__temperature(const struct clf_transcribe_options *options, int number);
/* Returns CLF_BAD_ARGUMENT if the temperatures or related options are invalid. */
clf_status clf__temperatures_check(const struct clf_transcribe_options *options);
/* Appends the tokens before the text: the start token and, for a multilingual model, language and task. */
clf_status clf__append_start(struct clf__ids *ids, const struct clf_transcriber *transcriber,
                             int32_t language);
/* Splits the text ids of an encoded window into words and finds their times within its first `frames` frames;
 * code: the language code. *out must be freed after a failure too. */
clf_status clf__window_words(struct clf__timed_words *out, const struct clf_transcriber *transcriber,
                             const struct clf__window_place *place, int32_t language, const char *code,
                             const int32_t *ids, int count, int frames);
/* Returns the maximum number of decoder inputs for word timestamps: text with up to four tokens before it and
 * one after it. */
static inline int clf__words_most_inputs(const struct clf__config *config)
{
    return config->decoder_max_positions / 2 + 5;
}

/* Times of a window, in seconds of the recording. */
struct clf__window_times {
    double start, end; /* start and end of the audio in the window */
    double whole;      /* end of the 30 s of the window */
    double spoken;     /* end of the last word before the window */
    double recording;  /* end of the recording */
    double silence;    /* minimum silence around hallucinations (options.hallucination_silence_threshold) */
};
/* Returns 1 if a segment's words look like a hallucination. */
int clf__segment_is_anomaly(const struct clf_segment *segment);
/* Returns the number of a window's segments to keep; if not all are kept, moves *seek (in frames). -1: decode
 * the window again from *seek. */
int clf__segments_keep(const struct clf_segment *segments, int count, const struct clf__window_times *window,
                       int64_t *seek);

/* Return 1 if zlib is available, and the ratio of a text's size to its zlib-compressed size, or NaN. */
int clf__compression_is_known(void);
double clf__compression_ratio(const char *text, size_t size);

/* Returns CLF_BAD_ARGUMENT for a value that is NaN or out of range. */
static inline clf_status clf__check_range(const char *name, double value, double low, double high)
{
    return value >= low && value <= high
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "%s: %g is out of range; use %g to %g", name, value, low, high);
}

/* Returns CLF_INTERRUPTED if the caller asks to stop. */
static inline clf_status clf__hooks_go_on(const struct clf_translate_options *hooks)
{
    return hooks->interrupted != NULL && hooks->interrupted(hooks->payload) != 0
               ? clf__fail(CLF_INTERRUPTED, "interrupted")
               : CLF_OK;
}

#endif
