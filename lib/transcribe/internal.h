/* Internal structures of the transcriber. */
#ifndef CLF_TRANSCRIBE_INTERNAL_H
#define CLF_TRANSCRIBE_INTERNAL_H

#include <clformer/transcriber.h>
#include <stdatomic.h>

#include "audio/spectrogram.h"
#include "model/config/sides.h"
#include "model/infer/session.h"
#include "model/model.h"
#include "search/whisper.h"
#include "text/tokenizers/speech.h"
#include "transcribe/timed_words.h"

enum {
    CLF__WINDOW_SECONDS = 30,
    CLF__WINDOW_SAMPLES = CLF__WINDOW_FRAMES * CLF__FRAME_SAMPLES, /* samples per window */
    CLF__CHUNK_SAMPLES = CLF__WINDOW_SAMPLES + CLF__SILENCE_SAMPLES,
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
struct clf__windows {
    struct clf_audio *audio;
    int64_t first;  /* index of the first sample of `spectrogram` in the recording */
    int count;      /* number of valid samples there */
    int ended;      /* the recording has no samples after these */
    int64_t total;  /* length of the recording in samples; set by clf__windows_measure() */
    int64_t frames; /* number of whole frames */
    float peak;     /* maximum of the unscaled frames */
    float *zeros;   /* (CLF__WINDOW_FRAMES, bands) */
    struct clf__spectrogram spectrogram; /* of CLF__CHUNK_SAMPLES samples and CLF__WINDOW_FRAMES frames */
};

clf_status clf__windows_create(struct clf__windows *windows, struct clf_device *device, int bands);
void clf__windows_free(struct clf__windows *windows);
/* Reads a whole recording to measure its length and its maximum. y: space for the frames of a window. */
clf_status clf__windows_measure(struct clf__windows *windows, struct clf_audio *audio, struct clf__tensor y,
                                const struct clf_transcriber *transcriber);
/* Computes frames first to first + count - 1 of the recording into y (CLF__WINDOW_FRAMES, bands), followed by
 * zeros. Going back to an earlier window rereads the recording from the beginning. */
clf_status clf__windows_take(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count);

/* Data that the search of a window reads. */
struct clf__decoding {
    struct clf__whisper_rules rules;
    struct clf__ids prompt;
};

struct clf_transcriber {
    struct clf_model *model;
    struct clf_transcribe_options options;
    struct clf__speech_tokens tokens;
    int is_multilingual;
    int32_t language;                             /* the requested language, or -1 */
    struct clf__ids suppressed, suppressed_first; /* ascending */
    struct clf__ids prompt, prefix, hotwords;     /* encoded texts of the options */
    int most_tokens;                              /* maximum tokens of a window, including the end token */
    int text_only;     /* for benchmarks: windows without timestamps generate most_tokens text tokens */
    int64_t generated; /* total tokens generated, without end tokens */
    int slots;         /* number of recordings transcribed concurrently */
    struct clf__session *session;
    struct clf__whisper *whisper;
    struct clf__windows *windows;    /* (slots) */
    struct clf__decoding *decodings; /* (slots) */
    atomic_int is_working;
};

/* The decoded tokens of a window. */
struct clf__decoded {
    const int32_t *ids; /* owned by the Whisper search */
    int count;
    double temperature; /* temperature of the last decoding attempt */
    double avg_logprob, no_speech, compression_ratio;
    int has_failed;    /* decoding gave no ids */
    int is_not_finite; /* the model computed NaN or infinity */
};
/* Parameters for decoding a window. */
struct clf__attempt {
    int slot; /* slot of the window in the session */
    int32_t language;
    const struct clf__ids *previous; /* text tokens of earlier windows */
    int64_t window;                  /* first frame of the window, which identifies its random draws */
    struct clf__decoded *out;
    int number; /* index of the temperature */
    double temperature;
    int is_over; /* no further attempt is needed */
};
/* Maximum number of tokens in a prompt for hotwords and for the text of earlier windows: each at most half of
 * the positions. With hotwords, `previous` is reduced to leave a quarter for the window's own text. */
struct clf__room {
    int hotwords, previous;
};
struct clf__room clf__room_before(const struct clf_transcriber *transcriber);
/* Begin a search and read its result; in between, clf__decode_all() runs all searches together. The result
 * must be read before the next search in the slot begins. A window without a result is marked in
 * *attempt->out. */
clf_status clf__decode_begin(struct clf_transcriber *transcriber, const struct clf__attempt *attempt);
clf_status clf__decode_all(struct clf_transcriber *transcriber);
clf_status clf__decode_end(struct clf_transcriber *transcriber, const struct clf__attempt *attempt);
/* Decodes each window, trying the temperatures in order, until the result meets the thresholds or is silence.
 * The temperatures in the attempts are ignored. */
clf_status clf__decode_with_fallback(struct clf_transcriber *transcriber, struct clf__attempt *attempts,
                                     int count);
/* Return the number of temperatures, and the temperature at an index. */
int clf__temperature_count(const struct clf_transcribe_options *options);
double clf__temperature(const struct clf_transcribe_options *options, int number);
/* Returns CLF_BAD_ARGUMENT if the temperatures or related options are invalid. */
clf_status clf__temperatures_check(const struct clf_transcribe_options *options);
/* Encodes the windows whose frames are stored in the session, in order, into slots 0, 1, ...
 */
clf_status clf__encode_windows(struct clf_transcriber *transcriber, int count);
/* Appends the tokens before the text: the start token and, for a multilingual model, language and task. */
clf_status clf__append_start(struct clf__ids *ids, const struct clf_transcriber *transcriber,
                             int32_t language);
/* Detects the language of the window at slot 0; *out receives its id, *probability (unless NULL) its
 * probability among all languages. */
clf_status clf__detect_language(int32_t *out, double *probability, struct clf_transcriber *transcriber);

/* Splits the text ids of the encoded window at a slot into words and finds their times within its first
 * `frames` frames; code: the language code. *out must be freed after a failure too. */
clf_status clf__window_words(struct clf__timed_words *out, struct clf_transcriber *transcriber, int slot,
                             int32_t language, const char *code, const int32_t *ids, int count, int frames);
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

/* Returns CLF_INTERRUPTED if the caller asks to stop. */
static inline clf_status clf__transcriber_go_on(const struct clf_transcriber *transcriber)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    return options->interrupted != NULL && options->interrupted(options->payload) != 0
               ? clf__fail(CLF_INTERRUPTED, "interrupted by the caller")
               : CLF_OK;
}

#endif
