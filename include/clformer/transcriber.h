/* Transcribing speech with Whisper models, by the rules of openai/whisper. */
#ifndef CLFORMER_TRANSCRIBER_H
#define CLFORMER_TRANSCRIBER_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/audio.h>
#include <clformer/inspect.h>
#include <clformer/model.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A Whisper model with working memory. */
struct clf_transcriber;

/* A word, with the signs that belong to it, and when it was spoken. */
struct clf_word {
    char *text; /* as the model has it, mostly with a space before it */
    double start, end;
    double probability; /* the mean of its tokens' */
};

/* What is said from one time to another, in seconds of the recording. */
struct clf_segment {
    int id;       /* from 0 */
    int64_t seek; /* where its window begins, in hundredths of a second */
    double start, end;
    char *text;             /* as the model has it, mostly with a space before it */
    int32_t *tokens;        /* (token_count) text and times; none where there is no text */
    struct clf_word *words; /* (word_count) where they are asked for; none where there is no text */
    int token_count, word_count;
    /* Of its window: */
    double temperature;       /* at which it was decoded last */
    double avg_logprob;       /* mean log-probability of its tokens, the end token included */
    double compression_ratio; /* bytes of its text by what zlib makes of them; NaN: built without zlib */
    double no_speech_prob;    /* the probability that nobody speaks */
};

/* A whole recording. */
struct clf_transcript {
    char *text;
    char *language; /* "en" where the model knows English alone */
    struct clf_segment *segments;
    int count;
    int has_words; /* they were asked for */
};

/* How to transcribe; start from clf_transcribe_options_init(). The defaults are those of openai/whisper's
 * command. */
struct clf_transcribe_options {
    size_t size;     /* of this struct: see clformer.h */
    int beam;        /* 5; 1: greedy */
    double patience; /* 1: the search of a window ends with beam * patience hypotheses; up to 8. From 1.5
                        on a beam of 1 is a search, too */
    double length_penalty; /* 0 to 1: scores are divided by ((5 + length) / 6)^penalty; below 0, the default:
                              by the length */
    const char *language;  /* its code or English name, "fr" or "French"; NULL: the one of the first 30 s */
    int translate;         /* 1: into English */
    int timestamps;        /* 1: segments have their own times; 0: those of whole windows */
    int condition_on_previous;    /* 1: each window goes on from what was said before */
    const char *initial_prompt;   /* what "was said" before the first window; NULL: nothing; "": a space */
    const char *prefix;           /* what every window begins with; NULL: nothing */
    double max_initial_timestamp; /* 1: the latest time, in seconds, that a window's first text begins at; 0:
                                     none is too late */
    double no_speech_threshold;   /* 0.6: a window more probably without speech is left out; NaN: none is */
    double log_probability_threshold; /* -1: but not where its avg_logprob is above this; NaN: even then */
    const double *clips; /* seconds from, to, from, to, ...: only these parts, in this order; without the last
                            one up to the end. NULL: all */
    int clip_count;      /* numbers in clips */
    /* Asked between steps: non-zero ends the work with CLF_INTERRUPTED. May be NULL. */
    int (*interrupted)(void *user);
    /* Told each segment of clf_transcribe() as soon as it is there; it is the library's, until the call
     * returns. May be NULL. */
    void (*segment)(void *user, const struct clf_segment *segment);
    /* Told how many seconds of how many are done, in each of its windows. May be NULL. */
    void (*progress)(void *user, double seconds, double of);
    void *user;
    /* 1: segments have words with their times, and where the last word ends the next window begins. */
    int word_timestamps;
    int reserved;
    /* 0: everything is kept. Above 0, which needs the times of words, a segment is left out where its words
     * look invented and more than so many seconds of silence lie on both sides of it. */
    double hallucination_silence_threshold;
    const char *prepend_punctuations; /* signs that are joined to the word that follows; NULL: "'“¿([{- */
    const char *append_punctuations;  /* and to the word before them; NULL: "'.。,，!！?？:：”)]}、 */
    /* A window is decoded at one temperature after the other, until its compression_ratio is no more than the
     * threshold and its avg_logprob no less than log_probability_threshold, or it is silence: less than that
     * with a no_speech_prob above no_speech_threshold. The last one stands. At 0 a window is searched with
     * beams, above it samples are drawn; what came of more than 0.5 is no prompt of the next window. NULL: 0,
     * 0.2, 0.4, 0.6, 0.8, 1. */
    const double *temperatures;
    int temperature_count;
    int best_of;                        /* 5: samples that are drawn, of which the likeliest counts */
    double compression_ratio_threshold; /* 2.4; NaN: none, as where clformer was built without zlib */
    uint64_t seed;                      /* 0: another one draws others; the same draws the same, whatever is
                                           transcribed beside it */
    /* Words and names that may come: they stand before what was said before in the prompt of every window
     * (faster-whisper), no more than half of the decoder's positions. Not beside a prefix. NULL: none. */
    const char *hotwords;
    const int32_t *suppressed; /* ids never generated, beside special ones; -1 stands for those of signs that
                                  nobody speaks. NULL: -1 alone; none, not even special ones, where
                                  suppressed_count is 0 */
    int suppressed_count;
    int batch; /* 1: recordings that clf_transcribe_several() works on side by side; up to 64 */
    int carry_initial_prompt; /* 1: it stands before what was said before in every window */
};

/** Fills the `size` bytes of options with the defaults. */
void clf_transcribe_options_init_sized(struct clf_transcribe_options *options, size_t size);

/** The same for the struct that the caller was compiled with. */
static inline void clf_transcribe_options_init(struct clf_transcribe_options *options)
{
    clf_transcribe_options_init_sized(options, sizeof *options);
}

/**
 * Creates a transcriber.
 *
 * @param out     receives it; free it with clf_transcriber_free() before its model.
 * @param model   borrowed for the transcriber's life.
 * @param options copied; what they point to must live as long as the transcriber. NULL: the defaults.
 * @return CLF_UNSUPPORTED for a model that is no Whisper model; CLF_BAD_ARGUMENT naming the option that is
 * out of range, or the language that the model does not know.
 */
clf_status clf_transcriber_create(struct clf_transcriber **out, struct clf_model *model,
                                  const struct clf_transcribe_options *options);

/** Frees a transcriber; NULL is ignored. */
void clf_transcriber_free(struct clf_transcriber *transcriber);

/**
 * Transcribes a recording, which is read twice from its beginning: how loud it is anywhere counts everywhere.
 *
 * @param out   receives the transcript; free it with clf_transcript_free().
 * @param audio is not at any particular place afterwards.
 * @return what reading gave; CLF_INTERRUPTED; CLF_TEXT for a prompt or prefix that is no UTF-8 or leaves no
 *         room. Segments that were told before a failure are not taken back.
 */
clf_status clf_transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                          struct clf_audio *audio);

/* Recordings that are transcribed side by side, by their numbers from 0; start from clf_recordings_init(). */
struct clf_recordings {
    size_t size; /* of this struct: see clformer.h */
    int count;
    int reserved;
    /* Opens a recording when its turn comes. It stays the caller's, and is not used any more once it is done.
     */
    clf_status (*open)(void *user, int index, struct clf_audio **out);
    /* Told once of each recording that was opened, in the order in which they end: its transcript, which is
     * the caller's, or why there is none, of which clf_last_error() tells. */
    void (*done)(void *user, int index, clf_status status, struct clf_transcript *transcript);
    /* As those of clf_transcribe_options. May be NULL. */
    void (*segment)(void *user, int index, const struct clf_segment *segment);
    void (*progress)(void *user, int index, double seconds, double of);
    void *user;
};

/** Fills the `size` bytes of recordings with zeros, and their size. */
void clf_recordings_init_sized(struct clf_recordings *recordings, size_t size);

/** The same for the struct that the caller was compiled with. */
static inline void clf_recordings_init(struct clf_recordings *recordings)
{
    clf_recordings_init_sized(recordings, sizeof *recordings);
}

/**
 * Transcribes recordings, as many at a time as the option `batch` says: a window of each goes through the
 * model with those of the others. What is said of one is what clf_transcribe() says of it, bit for bit with
 * the native products.
 *
 * @param recordings is copied.
 * @return CLF_OK also where recordings failed, of which `done` was told; CLF_INTERRUPTED, or a failure that
 *         ended them all: those that had begun were told of it, the others were not opened.
 */
clf_status clf_transcribe_several(struct clf_transcriber *transcriber,
                                  const struct clf_recordings *recordings);

/** Frees a transcript; NULL is ignored. */
void clf_transcript_free(struct clf_transcript *transcript);

/* How transcripts are written, as openai/whisper writes them. */
typedef enum clf_transcript_format {
    CLF_TRANSCRIPT_TEXT, /* a segment a line */
    CLF_TRANSCRIPT_SRT,
    CLF_TRANSCRIPT_VTT,
    CLF_TRANSCRIPT_TSV,  /* start and end in milliseconds, and the text */
    CLF_TRANSCRIPT_JSON, /* everything, in one line without its end */
} clf_transcript_format;

/* How the subtitles of a transcript with words are laid out; start from clf_transcript_options_init(). 0, the
 * default of each: as far as the next. */
struct clf_transcript_options {
    size_t size;            /* of this struct: see clformer.h */
    int highlight_words;    /* 1: each word is a cue of its own, in which it is underlined among the others */
    int max_line_width;     /* characters of a line; 0: 1,000 */
    int max_line_count;     /* lines of a cue; with a width it may go beyond segments. 0: any number */
    int max_words_per_line; /* words of a cue, where it does not go beyond segments; 0: 1,000 */
};

/** Fills the `size` bytes of options with the defaults. */
void clf_transcript_options_init_sized(struct clf_transcript_options *options, size_t size);

/** The same for the struct that the caller was compiled with. */
static inline void clf_transcript_options_init(struct clf_transcript_options *options)
{
    clf_transcript_options_init_sized(options, sizeof *options);
}

/**
 * Writes a transcript into a string.
 *
 * @param out     receives it, ending in NUL; the caller frees it with clf_string_free().
 * @param options of subtitles; NULL: the defaults. Those of a transcript without words take none.
 * @return CLF_BAD_ARGUMENT naming the option that is wrong.
 */
clf_status clf_transcript_write(char **out, const struct clf_transcript *transcript,
                                clf_transcript_format format, const struct clf_transcript_options *options);

#ifdef __cplusplus
}
#endif
#endif
