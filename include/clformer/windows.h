/* Encoded windows of speech: the parts of a transcription with a Whisper model, for programs that choose
 * windows, prompts and temperatures themselves. clf_windows_encode() encodes windows, and the other functions
 * read them any number of times: they generate text, detect languages and align text with time. transcriber.h
 * does all of this for whole recordings. */
#ifndef CLFORMER_WINDOWS_H
#define CLFORMER_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/engine.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Windows that an engine has encoded; the encoder's output is kept on the device. Any number of threads may
 * use them at the same time. The windows of all calls share the batches of the engine with each other and
 * with the windows of transcribers, and the results of a window do not depend on other windows. */
struct clf_windows;

/* A list of token ids. */
struct clf_ids {
    const int32_t *ids; /* (count) */
    int count;
};

/**
 * Encodes windows of log-mel features.
 *
 * @param out receives the windows; free them with clf_windows_free() before the engine.
 * @param engine an engine over a Whisper model; borrowed until the windows are freed.
 * @param features (count, bands, frames) features as the model's feature extractor computes them, 100 frames
 * per second; copied.
 * @param count number of windows, 1 or more.
 * @param bands number of mel bands: clf_model_info.feature_size.
 * @param frames number of frames per window, 1 to 3000. Shorter windows are not padded.
 * @return CLF_BAD_ARGUMENT naming the out-of-range argument; CLF_UNSUPPORTED for a model other than Whisper;
 * CLF_DEVICE_MEMORY with the sizes.
 */
CLF_API clf_status clf_windows_encode(struct clf_windows **out, struct clf_engine *engine,
                                      const float *features, int count, int bands, int frames);

/**
 * Makes windows from the output of an encoder, such as clf_windows_read() returns.
 *
 * @param out as clf_windows_encode().
 * @param engine as clf_windows_encode().
 * @param encoded (count, positions, width) output of the encoder; copied.
 * @param count number of windows, 1 or more.
 * @param positions number of positions per window, 1 to 1500; 50 per second.
 * @param width width of a position: clf_model_info.d_model.
 * @return as clf_windows_encode().
 */
CLF_API clf_status clf_windows_from_host(struct clf_windows **out, struct clf_engine *engine,
                                         const float *encoded, int count, int positions, int width);

/**
 * Returns the shape (count, positions, width) of the encoder's output.
 *
 * @param count receives the number of windows.
 * @param positions receives the number of positions per window; 50 per second.
 * @param width receives the width of a position, d_model.
 * @param windows the windows.
 */
CLF_API void clf_windows_shape(int *count, int *positions, int *width, const struct clf_windows *windows);

/**
 * Copies the encoder's output to the host.
 *
 * @param encoded receives (count, positions, width) numbers.
 * @param windows the windows.
 * @return CLF_DEVICE if the device has failed.
 */
CLF_API clf_status clf_windows_read(float *encoded, const struct clf_windows *windows);

/** Frees windows; NULL is ignored. No call may use them. */
CLF_API void clf_windows_free(struct clf_windows *windows);

/* Options of clf_windows_generate(); start from clf_window_options_init(). The defaults are those of
 * CTranslate2. */
struct clf_window_options {
    size_t size; /* size of this struct, see clformer.h */
    int beam;    /* default 5; 1: greedy. At most 64 */
    int n_best;  /* default 1: number of texts per window, at most beam * patience, rounded. With samples, the
                    number of samples, at most 64 */
    double patience; /* default 1: the beam search of a window ends with beam * patience texts, rounded */
    double length_penalty; /* default 1: scores are divided by length^length_penalty, with the length without
                              the end token. 0: the search ends when n_best texts have finished and the best
                              candidate of a step was one of them */
    double repetition_penalty; /* default 1: above 1, tokens that are in the text become less probable */
    int no_repeat_ngram_size;  /* no n-gram of this size occurs twice in a text; 0, the default: off */
    /* Default 448: a text has at most the smaller of max_length / 2 and max_length less the tokens before the
     * last task token. A text also ends at the last position of the decoder. */
    int max_length;
    int max_initial_timestamp; /* default 50: latest first timestamp, in steps of 0.02 s; negative: no limit
                                */
    int top_k;                 /* samples: only the k most probable tokens are drawn; 0, the default: all */
    double temperature; /* 0, the default: beam search; above 0: n_best samples at this temperature; beam must
                           be 1 */
    uint64_t seed;      /* of samples */
    const int32_t *suppressed;       /* (suppressed_count) ids that are never generated; NULL: none */
    const int32_t *suppressed_first; /* (suppressed_first_count) ids that are not the first token of a text;
                                        NULL: none */
    int suppressed_count, suppressed_first_count;
    int wants_no_speech; /* 1: computes the probability of no speech; 0, the default: the probability is
                            reported as 0 */
    int wants_logits; /* 1: clf_window_text.logits is filled, which decodes each text again; 0, the default:
                       * not
                       */
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_window_options_init_sized(struct clf_window_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_window_options_init(struct clf_window_options *options)
{
    clf_window_options_init_sized(options, sizeof *options);
}

/* A text of a window. */
struct clf_window_text {
    int32_t *ids; /* (count) the prompt's tokens after its task tokens, then the generated tokens without the
                     end token */
    int count;
    double log_probability; /* sum of natural log-probabilities including the end token; banned tokens have
                               probability 0, and tokens of the prompt add 0 */
    double score;           /* log_probability / length^length_penalty */
    /* With wants_logits: (logit_count, vocabulary) logits from which each token of the text and the end token
     * were chosen, with the repetition penalty; tokens that are suppressed or break the rules for
     * timestamps have -FLT_MAX. Otherwise NULL. */
    float *logits;
    int logit_count;
};

/* The result of a window. */
struct clf_window_result {
    struct clf_window_text *texts; /* (count) best first */
    int count;
    double no_speech_probability; /* probability that the window holds no speech */
};

/**
 * Generates the texts of windows, as CTranslate2 does. The rules for timestamps apply unless the last task
 * token of a prompt is <|notimestamps|>.
 *
 * @param out receives (count) results, one per window; free them with clf_window_results_free().
 * @param windows the windows.
 * @param prompts (count) prompts, one per window: optionally <|startofprev|> and earlier text;
 * <|startoftranscript|>; its task tokens (language, task, <|notimestamps|>); and optionally the first tokens
 * of the text. All prompts have <|startoftranscript|> at the same index and the same number of task tokens.
 * @param options NULL for the defaults; copied.
 * @return CLF_BAD_ARGUMENT naming the option or the prompt; CLF_TEXT for a prompt that leaves no position for
 * text, or if the model computes NaN or infinity; CLF_DEVICE_MEMORY with the sizes.
 */
CLF_API clf_status clf_windows_generate(struct clf_window_result **out, struct clf_windows *windows,
                                        const struct clf_ids *prompts,
                                        const struct clf_window_options *options);

/** Frees `count` results; NULL is ignored. */
CLF_API void clf_window_results_free(struct clf_window_result *results, int count);

/**
 * Computes the probabilities of languages: the softmax over the ids of the languages at the first token after
 * <|startoftranscript|>.
 *
 * @param probabilities receives (windows, count) probabilities; each row sums to 1.
 * @param windows the windows.
 * @param languages (count) ids of the languages.
 * @param count number of languages, 1 or more.
 * @return CLF_BAD_ARGUMENT for an id outside the vocabulary; CLF_TEXT if the model computes NaN or infinity.
 */
CLF_API clf_status clf_windows_languages(float *probabilities, struct clf_windows *windows,
                                         const int32_t *languages, int count);

/* The alignment of the text of a window. */
struct clf_window_alignment {
    /* (count) a monotonic path through tokens and positions: text token `tokens[i]`, or the end after the
     * text, at position `positions[i]` of the encoder, 0.02 s each. Empty for fewer than 2 frames. */
    int *tokens, *positions;
    float *probabilities; /* (probability_count) of the text tokens, among text tokens */
    int count, probability_count;
};

/**
 * Aligns texts with windows, by the cross-attention of the alignment heads listed in the model folder, or
 * else of all heads in the second half of the layers.
 *
 * @param out receives (count) alignments, one per window; free them with clf_window_alignments_free().
 * @param windows the windows.
 * @param start the tokens before the text: <|startoftranscript|>, and for a multilingual model language and
 * task.
 * @param texts (count) text tokens, one list per window, which may be empty.
 * @param frames (count) number of frames of each window to align with, 0 or more; 100 per second. Frames
 * after the end of the window are ignored.
 * @param median_width width of the median filter, 1 or more; 7 in openai/whisper. An even width is rounded up
 *     to the next odd number.
 * @return CLF_BAD_ARGUMENT naming the argument that is out of range; CLF_TEXT for a text that is too long.
 */
CLF_API clf_status clf_windows_align(struct clf_window_alignment **out, struct clf_windows *windows,
                                     const struct clf_ids *start, const struct clf_ids *texts,
                                     const int *frames, int median_width);

/** Frees `count` alignments; NULL is ignored. */
CLF_API void clf_window_alignments_free(struct clf_window_alignment *alignments, int count);

#ifdef __cplusplus
}
#endif
#endif
