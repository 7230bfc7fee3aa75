/* What the files of the transcriber share. */
#ifndef CLF_TRANSCRIBE_INTERNAL_H
#define CLF_TRANSCRIBE_INTERNAL_H

#include <clformer/transcriber.h>
#include <stdatomic.h>

#include "config/sides.h"
#include "infer/session.h"
#include "ops/log_mel.h"
#include "search/passage.h"
#include "text/speech.h"
#include "transcribe/timed_words.h"
#include "translate/internal.h"

enum {
    CLF__WINDOW_SECONDS = 30,
    CLF__FRAME_SAMPLES = CLF__LOG_MEL_HOP,       /* from one frame to the next */
    CLF__FRAME_CONTEXT = CLF__LOG_MEL_FRAME / 2, /* samples that it looks at on either side */
    CLF__WINDOW_SAMPLES = CLF__WINDOW_FRAMES * CLF__FRAME_SAMPLES, /* of a window */
    CLF__PIECE_SAMPLES = CLF__WINDOW_SAMPLES + 2 * CLF__FRAME_CONTEXT,
    CLF__FRAMES_A_SECOND = 100,
    CLF__FRAMES_A_TIMESTAMP = 2,
    CLF__MOST_RECORDINGS = 64, /* side by side */
};

/* Seconds from one time that a model can say to the next: openai/whisper's number, of which n times is not
 * always n / 50. */
#define CLF__TIMESTAMP_STEP 0.02

/* Signs that are joined to the word that follows, and to the word before (openai/whisper's). */
#define CLF__PREPENDED "\"'“¿([{-"
#define CLF__APPENDED  "\"'.。,，!！?？:：”)]}、"

/* A recording that is read window by window. */
struct clf__windows {
    struct clf_device *device;
    struct clf_audio *audio;
    float *samples;    /* (CLF__PIECE_SAMPLES) those from `first` on */
    int64_t first;     /* where in the recording they begin */
    int count;         /* of them, read so far */
    int ended;         /* no more follow */
    int64_t total;     /* samples of the recording, once clf__windows_measure() has read it */
    int64_t frames;    /* the whole ones of these */
    float lowest;      /* what log-mel values are raised to */
    float *zeros;      /* (CLF__WINDOW_FRAMES, bands) */
    float *peaks_host; /* (CLF__WINDOW_FRAMES) */
    struct clf__log_mel log_mel;
    struct clf__arena arena;
    struct clf__tensor piece; /* (1, CLF__PIECE_SAMPLES) */
    struct clf__tensor peaks; /* (1, CLF__WINDOW_FRAMES) */
};

clf_status clf__windows_create(struct clf__windows *windows, struct clf_device *device, int bands);
void clf__windows_free(struct clf__windows *windows);
/* Reads a recording from its beginning to its end: how long and how loud it is. y: room for the frames of a
 * window. */
clf_status clf__windows_measure(struct clf__windows *windows, struct clf_audio *audio, struct clf__tensor y,
                                const struct clf_transcriber *transcriber);
/* Frames first .. first + count - 1 of the recording into y (CLF__WINDOW_FRAMES, bands), zeros behind them. A
 * window that begins before the last one reads the recording anew. */
clf_status clf__windows_take(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count);

/* What the passage looks at while it searches a window. */
struct clf__decoding {
    struct clf__passage_rules rules;
    struct clf__ids prompt;
};

struct clf_transcriber {
    struct clf_model *model;
    struct clf_transcribe_options options;
    struct clf__speech_tokens tokens;
    int is_multilingual;
    int32_t language;                             /* the one asked for, or -1 */
    struct clf__ids suppressed, suppressed_first; /* ascending */
    struct clf__ids prompt, prefix, hotwords;     /* of the options */
    int most_tokens;                              /* of a window, the end token included */
    int text_only;     /* for benches: windows without timestamps have most_tokens tokens of text */
    int64_t generated; /* tokens of all windows so far, without end tokens */
    int slots;         /* recordings at a time */
    struct clf__session *session;
    struct clf__passage *passage;
    struct clf__windows *windows;    /* (slots) */
    struct clf__decoding *decodings; /* (slots) */
    atomic_int is_working;
};

/* The model's answer to the window whose frames lie in the session. */
struct clf__decoded {
    const int32_t *ids; /* the passage's */
    int count;
    double temperature; /* at which it was decoded last */
    double avg_logprob, no_speech, compression_ratio;
    int has_failed;    /* there are no ids */
    int is_not_finite; /* because the model computed NaN or infinity */
};
/* What a window is decoded with. */
struct clf__attempt {
    int slot; /* where it lies in the session */
    int32_t language;
    const struct clf__ids *previous; /* ids of what was said before */
    int64_t window;                  /* the frame that it begins at, which tells its draws from others' */
    struct clf__decoded *out;
    int number; /* of the temperature, from 0 */
    double temperature;
    int is_over; /* no other one is tried */
};
/* How many hot words stand before a window's text, and how many tokens of what was said before at most: no
 * more than half of the positions each, and of the latter so much less that a quarter is left for what the
 * window says. */
struct clf__room {
    int hotwords, previous;
};
struct clf__room clf__room_before(const struct clf_transcriber *transcriber);
/* Begins a search that clf__decode_all() carries out with the others. clf__decode_end() reads the result
 * before its slot begins again; it marks a window without a result in *attempt->out. */
clf_status clf__decode_begin(struct clf_transcriber *transcriber, const struct clf__attempt *attempt);
clf_status clf__decode_all(struct clf_transcriber *transcriber);
clf_status clf__decode_end(struct clf_transcriber *transcriber, const struct clf__attempt *attempt);
/* Each at one temperature after the other, until one gives a result that passes the thresholds, or silence;
 * whatever the attempts say of temperatures. */
clf_status clf__decode_with_fallback(struct clf_transcriber *transcriber, struct clf__attempt *attempts,
                                     int count);
/* How many temperatures there are, and one of them. */
int clf__temperature_count(const struct clf_transcribe_options *options);
double clf__temperature(const struct clf_transcribe_options *options, int number);
/* CLF_BAD_ARGUMENT where one of them, or what belongs to them, makes no sense. */
clf_status clf__temperatures_check(const struct clf_transcribe_options *options);
/* Encodes the windows whose frames lie in the session, one after the other, at slots from 0 on. */
clf_status clf__encode_windows(struct clf_transcriber *transcriber, int count);
/* What stands before text: the start token, and where there are several languages, the language and the task.
 */
clf_status clf__append_start(struct clf__ids *ids, const struct clf_transcriber *transcriber,
                             int32_t language);
/* The language of the window at slot 0: its id. */
clf_status clf__detect_language(int32_t *out, struct clf_transcriber *transcriber);

/* The words that text ids of the encoded window at a slot make up, and when its first `frames` say that they
 * were spoken; code: the language's. *out is set on failure too. */
clf_status clf__window_words(struct clf__timed_words *out, struct clf_transcriber *transcriber, int slot,
                             int32_t language, const char *code, const int32_t *ids, int count, int frames);
/* How many ids the decoder goes over for that at most: up to four before the text, and one behind it. */
static inline int clf__words_most_inputs(const struct clf__config *config)
{
    return config->decoder_max_positions / 2 + 5;
}

/* In seconds of the recording. */
struct clf__window_times {
    double start, end; /* end: of what is heard of it */
    double whole;      /* where its 30 s end */
    double spoken;     /* where words before it ended */
    double recording;  /* where the recording ends */
    double silence;    /* how much of it makes odd words doubtful */
};
/* Whether a segment's words are such as models invent. */
int clf__segment_is_odd(const struct clf_segment *segment);
/* How many of a window's segments to keep, with *seek, in frames, moved where it is not all of them; -1: the
 * window begins again at *seek. */
int clf__segments_keep(const struct clf_segment *segments, int count, const struct clf__window_times *window,
                       int64_t *seek);

/* Bytes of a text by those that zlib makes of it, or NaN; whether there is zlib. */
int clf__compression_is_known(void);
double clf__compression_ratio(const char *text, size_t size);

/* CLF_INTERRUPTED where the caller asks to stop. */
static inline clf_status clf__transcriber_go_on(const struct clf_transcriber *transcriber)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    return options->interrupted != NULL && options->interrupted(options->user) != 0
               ? clf__fail(CLF_INTERRUPTED, "the caller asked to stop")
               : CLF_OK;
}

#endif
