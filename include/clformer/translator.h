/* Translating and scoring text, and computing attention maps. */
#ifndef CLFORMER_TRANSLATOR_H
#define CLFORMER_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/model.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A translator: a model plus the device memory for one batch. One call at a time may use it: while a call
 * runs, clf_translate(), clf_score(), clf_attend() and clf_translator_prepare() from another thread or from
 * a callback (clf_translate_options.interrupted, or the log function) return CLF_BAD_ARGUMENT. Each
 * thread creates its own translator; translators may share a model. */
struct clf_translator;

/* How the score of a hypothesis depends on its sum of log-probabilities and its length. */
typedef enum clf_length_rule {
    CLF_LENGTH_HUGGINGFACE,     /* score = sum / length^penalty */
    CLF_LENGTH_GNMT,            /* score = sum / ((5 + length) / 6)^penalty (Wu et al. 2016, section 7) */
    CLF_LENGTH_NONE,            /* score = sum */
    CLF_LENGTH_INCLUDING_START, /* score = sum / (1 + length)^penalty: the start token is counted, as in the
                          Translator of jadore1801120/attention-is-all-you-need-pytorch */
} clf_length_rule;

/* When a beam search ends. */
typedef enum clf_early_stopping {
    /* early_stopping of transformers: */
    CLF_STOP_FALSE,
    CLF_STOP_TRUE,
    CLF_STOP_NEVER,
    /* further rules: */
    CLF_STOP_ALL, /* each beam continues past its end token until all beams have one, as in the Translator of
                     jadore1801120/attention-is-all-you-need-pytorch; tokens after the first end token count
                     in the score but are removed from the text */
    CLF_STOP_SHRINK, /* finished beams are removed and the beam shrinks (Marian) */
} clf_early_stopping;

/* A sentence of a line, or part of a sentence that is too long for the model; valid during the callback. */
struct clf_sentence {
    const char
        *source; /* source_size bytes of the line without surrounding white space; not NUL-terminated */
    size_t source_size;
    const char *text; /* the translation, NUL-terminated */
};

struct clf_translation; /* below */

/* Search options; start from clf_translate_options_init(), which uses the model's own values. */
struct clf_translate_options {
    size_t size;    /* size of this struct, see clformer.h */
    int beam;       /* 1: greedy */
    int n_best;     /* translations per line, at most beam; with sample see below */
    int min_length; /* generated tokens, including the end token */
    int max_length; /* generated tokens, including the end token */
    clf_length_rule length_rule;
    double length_penalty;
    clf_early_stopping early_stopping;
    int renormalize;      /* 1: recompute log-softmax after banned tokens are removed */
    int32_t forced_first; /* id of the first generated token, or -1 */
    int32_t forced_last;  /* id at max_length, or -1 */
    const int32_t
        *suppressed; /* (suppressed_count) ids that are never generated, in addition to the model's own */
    int suppressed_count;
    int batch_tokens; /* maximum number of source tokens in a batch; 0: chosen for device and model, 2048 on a
                         CPU */
    int pieces;       /* 1: lines consist of subword tokens separated by white space, in input and output */
    /* Polled between steps; non-zero ends the call with CLF_INTERRUPTED. May be NULL. */
    int (*interrupted)(void *user);
    void *user;
    /* Languages of a multilingual model: its own codes, or shorter ones if unambiguous (pt for por_Latn).
     * NULL: the source language of the model folder, and the target language that the folder forces
     * (forced_first) or names. */
    const char *source_language, *target_language;
    /* As in transformers: an n-gram of this size never occurs twice in a translation (including the start
     * token), or never if it occurs in the source. 0: no restriction. For frames,
     * encoder_no_repeat_ngram_size must be 0. */
    int no_repeat_ngram_size, encoder_no_repeat_ngram_size;
    /* 1: clf_translate() splits each line into sentences, splits sentences that are too long for the model
     * into halves, translates them separately and keeps the white space between them. Ids are concatenated,
     * including end tokens; scores are summed. The splitting rules are the same for every language. Not for
     * subword tokens or frames, and not with n_best above 1. */
    int split_sentences;
    /* As in transformers: the score s of a token that occurs in the translation so far (including the start
     * token) becomes s / p if s >= 0, else s * p, with p > 0 (repetition_penalty); the score of a source
     * token is changed in the same way with 1 / p (encoder_repetition_penalty; must be 1 for frames). Scores
     * are logits if beam is 1, else log-probabilities. 1: no change. Other values copy the logits of every
     * step from the device and may reduce the batch size. */
    double repetition_penalty, encoder_repetition_penalty;
    /* 1: sample tokens (do_sample of transformers). With beam 1, n_best samples per line, up to 128, in order
     * of their numbers; with more beams, from the continuations of all beams (not with CLF_STOP_ALL). Samples
     * depend only on the line's tokens, the seed and these options: they do not depend on the batch, and
     * equal lines have equal samples. Logits are copied from the device at each step. The filters are applied
     * in this order; each leaves at least one token:
     * - temperature: above 0; scores are divided by it
     * - top_k: keep the k best tokens and tokens equal to the k-th; 0: off
     * - top_p: 0 to 1; remove the least probable tokens while their sum is at most 1 - p; 1: off
     * - min_p: 0 to 1; remove tokens less probable than p times the maximum; 0: off
     * - typical_p: above 0, to 1; keep the tokens whose log-probability is nearest to the mean, up to the sum
     *   p (Meister et al. 2022); 1: off
     * - epsilon_cutoff: 0 to 1; remove tokens less probable than this; 0: off
     * - eta_cutoff: 0 to 1; remove tokens less probable than min(eta, sqrt(eta) * exp(-entropy)) (Hewitt et
     *   al. 2022); 0: off */
    int sample;
    double temperature;
    int top_k;
    double top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff;
    uint64_t seed;
    /* Called with each new piece of a line's translation. `text` holds `size` bytes and is valid during the
     * call. Text ends after a word or, in scripts without spaces, after a character, and never inside a
     * character. The concatenated text of a line is its translation; the lines of a call are interleaved.
     * Requires beam 1, n_best 1 and no split_sentences. May be NULL. */
    void (*streamed)(void *user, int line, const char *text, size_t size);
    /* Path of a lexical shortlist in Marian's format (binary or text, plain or gzip): the probable target
     * words of each source word. The translation of a line uses only the words of the line's shortlist,
     * independent of the batch. NULL: the shortlist of the model folder, if any; "none": all words.
     * clf_score() always uses all words. */
    const char *shortlist;
    /* Maximum length of a translation as a multiple of the source length, rounded up, both including end
     * tokens (Marian). 0: only max_length applies. */
    double max_length_factor;
    /* Above 0: clf_translate() fills clf_hypothesis.alignment from the mean cross-attention of all heads of
     * this decoder layer, counted from 1. This runs the model a second time over each translation, one at a
     * time. The second-to-last layer often aligns best (Garg et al. 2019). Not with split_sentences. */
    int alignment_layer;
    /* As exponential_decay_length_penalty of transformers: after length_decay_start generated tokens (without
     * a forced prefix), the score s of an end token becomes s + |s| (f^n - 1), where n is the number of
     * tokens since then and f is length_decay_factor. Above 1, translations end sooner. 1: no change. */
    int length_decay_start;
    double length_decay_factor;
    /* 1: unknown tokens in the text are replaced by the source token with the highest cross-attention, as
     * written in the source. The attention is that of alignment_layer or, if that is 0, that of the
     * heads that a CTranslate2 folder names, or else the mean of all heads of the second-to-last layer. A
     * token is a subword. Ids are unchanged. This runs the model a second time over each translation with an
     * unknown token. Not for frames, and not with streamed. */
    int replace_unknown;
    /* 1 to 128: number of alternative translations per line. Each begins with a different token after the
     * forced prefix, most probable first, and continues with the best result of the search, as
     * return_alternatives of CTranslate2. End tokens are not used as first tokens; the probabilities of the
     * other tokens sum to 1. The score combines the continuation's score and the token's log-probability.
     * Each alternative is encoded separately. Not with n_best above 1, sample, split_sentences or streamed.
     * 0: off. */
    int alternatives;
    /* One of the model's tasks ("task_specific_params" in config.json, listed by `clformer inspect`): its
     * prefix is added to every source. Use clf_translate_options_init_task() to get its other values. Not
     * with subword tokens as input (pieces). NULL: none. */
    const char *task;
    /* Weight of the coverage penalty, as in CTranslate2 (Wu et al. 2016, section 7): after the length rule,
     * the weight times the sum of log(min(c, 1)) over the source tokens is added to the score, where c is the
     * attention that a token received in all steps. Applies to greedy search and samples as well. The
     * attention is the mean of the first heads of a decoder layer that a CTranslate2 folder names, else the
     * first head of the last layer. Positive values discourage untranslated parts. 0: off. Not with
     * CLF_STOP_ALL. */
    double coverage_penalty;
    /* Above 1: diverse beam search (Vijayakumar et al. 2016), as num_beam_groups and diversity_penalty of
     * transformers 4. The beams form beam_groups groups of equal size, each with a separate beam search.
     * Groups step in order: the score of a token is reduced by diversity_penalty, above 0, for every beam of
     * an earlier group that has just selected the token. Log-probabilities are not changed. The result is the
     * best translations of all groups. Not with sample, and not with CLF_STOP_ALL or CLF_STOP_SHRINK. With
     * renormalize, logits are copied from the device at each step. 1: one group. */
    int beam_groups;
    double diversity_penalty;
    /* Called with each sentence of lines[line] in order, before clf_translate() returns; requires
     * split_sentences. Not called for a line that failed. May be NULL. */
    void (*sentence_translated)(void *user, int line, const struct clf_sentence *sentence);
    /* Called once for each line of clf_translate(), in order, on the calling thread, as soon as the line and
     * all lines before it are translated or failed; with alternatives at the end of the call. `translation`
     * is the result of lines[line] and is valid during the callback. Not called for the remaining lines if
     * the call fails. May be NULL. */
    void (*translated)(void *user, int line, const struct clf_translation *translation);
};

/** Sets the first `size` bytes of options to the model's own values. If model is NULL, sets zeros, which
 * clf_translator_create() rejects. */
CLF_API void clf_translate_options_init_sized(struct clf_translate_options *options, size_t size,
                                              const struct clf_model *model);

/** Sets all options to the model's own values. */
static inline void clf_translate_options_init(struct clf_translate_options *options,
                                              const struct clf_model *model)
{
    clf_translate_options_init_sized(options, sizeof *options, model);
}

/**
 * Sets the first `size` bytes of options to the values of one of the model's tasks and options->task to
 * `name`.
 *
 * @param options receives the values.
 * @param size size of the struct.
 * @param model the model.
 * @param name name of the task; borrowed until a translator is created from the options.
 * @return CLF_BAD_ARGUMENT for a NULL pointer or an unknown task, naming the tasks of the model; CLF_FILE or
 *         CLF_FORMAT for config.json.
 */
CLF_API clf_status clf_translate_options_init_task_sized(struct clf_translate_options *options, size_t size,
                                                         const struct clf_model *model, const char *name);

/** Sets all options to the values of a task, as clf_translate_options_init_task_sized(). */
static inline clf_status clf_translate_options_init_task(struct clf_translate_options *options,
                                                         const struct clf_model *model, const char *name)
{
    return clf_translate_options_init_task_sized(options, sizeof *options, model, name);
}

/* A line of input: `size` bytes of UTF-8 text; for a speech model, the path of a recording or of a .npy file
 * of frames. Need not be NUL-terminated. */
struct clf_line {
    const char *text;
    size_t size;
};

/* One translation of a line. */
struct clf_hypothesis {
    char *text;
    int32_t *ids; /* (count) generated ids, including the end token if there is one */
    int count;    /* 1 or more */
    float score;  /* the value by which the search ranks; for greedy search and samples the log-probability */
    double log_probability; /* sum of natural log-probabilities including the end token; banned tokens have
                               probability 0 */
    /* (count) requires alignment_layer: the source token with the highest attention for each id, 0 for the
     * first token of the text; tokens that frame the text are not counted, tokens of a task's prefix are; -1
     * for ids that are not text. Else NULL. */
    int *alignment;
};

/* The result for one line. */
struct clf_translation {
    clf_status status; /* CLF_TEXT, CLF_FILE or CLF_FORMAT if the line is unusable or no translation was
                          found; see problem */
    char *problem;     /* message without the line number, or NULL */
    int cut_from;      /* tokens or frames before truncation to the model's limit; 0: not truncated */
    int source_count;  /* tokens or frames that were encoded */
    struct clf_hypothesis *hypotheses; /* (count) best first */
    int count; /* n_best or alternatives, or fewer if the search found fewer; 0: an empty line or a problem */
};

/* Seconds by stage since the translator was created. */
struct clf_stage_times {
    double tokenize, encode, decode, search,
        detokenize; /* seconds. If the device was opened with profiling, encode ends when the device has
                       finished; otherwise decode may include waiting for it */
    int64_t lines, source_tokens, target_tokens;
    int64_t steps, step_rows; /* number of decoding steps, and the sum of their hypotheses */
    int64_t batches;          /* batches of lines that were encoded or scored together */
};

/**
 * Creates a translator.
 *
 * @param out receives the translator; free it with clf_translator_free() before its model.
 * @param model borrowed until the translator is freed.
 * @param options copied, including the list of suppressed ids; NULL for the model's values.
 * @return CLF_BAD_ARGUMENT for a NULL model, an option that is out of range or a language that the model does
 *         not have, naming the option or language.
 */
CLF_API clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                         const struct clf_translate_options *options);

/**
 * Creates a translator over several models, one model folder loaded on several devices. Each call distributes
 * its lines: one thread per device takes the next waiting lines while it has capacity. Translations do not
 * depend on the distribution, except for the last bits of scores if devices differ. A device that fails is
 * not used any more, a warning is logged, and the other devices take its lines; a call fails if no device is
 * left. Callbacks run on the calling thread; text that options.streamed received from a failed device is not
 * repeated. clf_attend() uses the first working device. Each device has memory for batch_tokens.
 *
 * @param out receives the translator; free it with clf_translator_free() before its models.
 * @param models (count) models, each on a different device; borrowed until the translator is freed. NULL
 *     elements, and models whose device failed in an earlier translator, are skipped.
 * @param count number of elements; at least one is not NULL.
 * @param options as for clf_translator_create().
 * @return the errors of clf_translator_create(); CLF_BAD_ARGUMENT naming models that differ in folder or
 *         precision, or share a device.
 */
CLF_API clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models,
                                              int count, const struct clf_translate_options *options);

/**
 * Allocates the device memory for translations. Without this call, the first translation allocates it.
 *
 * @param translator the translator.
 * @return CLF_DEVICE_MEMORY with the sizes.
 */
CLF_API clf_status clf_translator_prepare(struct clf_translator *translator);

/** Frees a translator; NULL is ignored. If a call of the translator is running, it is not freed and a warning
 * is logged. */
CLF_API void clf_translator_free(struct clf_translator *translator);

/**
 * Translates lines with continuous batching: when a line is finished, a waiting line takes its place. Lines
 * are processed in groups of consecutive lines, longest first within a group.
 *
 * @param out receives (count) translations in the order of the lines; free them with clf_translations_free().
 * @param translator the translator.
 * @param lines (count) lines, borrowed for the call; an empty line or white space gives no hypothesis and
 *     CLF_OK.
 * @param count number of lines, 0 or more.
 * @return CLF_OK even if single lines are unusable; the error of a failing device or allocation;
 *         CLF_INTERRUPTED; CLF_BAD_ARGUMENT for a negative count, NULL lines or a NULL translator.
 */
CLF_API clf_status clf_translate(struct clf_translation **out, struct clf_translator *translator,
                                 const struct clf_line *lines, int count);

/**
 * Translates lines with forced prefixes, as decoder_input_ids of transformers. The tokens of a prefix do not
 * count in scores or in the lengths that normalise scores; they do count in the minimum and maximum length
 * and in all rules about preceding tokens. Ids and text of the result begin with the prefix. The token of
 * options.forced_first comes before the prefix. Not with split_sentences.
 *
 * @param out as clf_translate().
 * @param translator the translator.
 * @param lines as clf_translate().
 * @param prefixes (count) beginnings of the translations; an empty prefix is no prefix. NULL: no prefixes.
 * @param count number of lines, 0 or more.
 * @return as clf_translate(). A line gets CLF_TEXT if its prefix reaches the maximum length or contains an
 *         end token.
 */
CLF_API clf_status clf_translate_prefixed(struct clf_translation **out, struct clf_translator *translator,
                                          const struct clf_line *lines, const struct clf_line *prefixes,
                                          int count);

/** Frees the result of clf_translate(); NULL is ignored. */
CLF_API void clf_translations_free(struct clf_translation *translations, int count);

/* The log-probability of a target. */
struct clf_score {
    clf_status status; /* as in clf_translation; also CLF_TEXT if the model computes non-finite values */
    char *problem;
    int cut_from;           /* tokens or frames of the longer side before truncation; 0: not truncated */
    int cut_is_target;      /* 1: the truncated side is the target */
    double log_probability; /* sum of natural log-probabilities of the target including the end token; no
                               token is banned */
    int32_t *ids;           /* (count) target ids, including the end token */
    float *token_log_probabilities; /* (count) */
    int count;
};

/**
 * Scores targets (forced decoding).
 *
 * @param out receives (count) scores in order; free them with clf_scores_free().
 * @param translator the translator.
 * @param sources (count) source lines, borrowed for the call.
 * @param targets (count) target lines, borrowed for the call; an empty target consists of the end token.
 * @param count number of pairs, 0 or more.
 * @return as clf_translate().
 */
CLF_API clf_status clf_score(struct clf_score **out, struct clf_translator *translator,
                             const struct clf_line *sources, const struct clf_line *targets, int count);

/** Frees the result of clf_score(); NULL is ignored. */
CLF_API void clf_scores_free(struct clf_score *scores, int count);

/* The attention weights of one sentence pair. The weight of layer l, head h, query i, key j (Q queries, K
 * keys) is [((l * heads + h) * Q + i) * K + j]; each row sums to 1. */
struct clf_attention_maps {
    int encoder_layers, decoder_layers, encoder_heads, decoder_heads;
    int source_count,
        target_count;     /* S source tokens or frames; T decoder inputs: the start token, then the target */
    float *encoder;       /* (layers, heads, S, S) */
    float *decoder;       /* (layers, heads, T, T) */
    float *cross;         /* (layers, heads, T, S) */
    char **source_tokens; /* (source_count) readable tokens; "#1", "#2", ... for frames */
    char **target_tokens; /* (target_count) */
};

/**
 * Computes the attention weights of every layer and head for a source and a target. Text longer than the
 * model's limit is truncated with a logged warning.
 *
 * @param out receives the maps; free them with clf_attention_maps_free().
 * @param translator the translator.
 * @param source the source line, borrowed for the call.
 * @param target the target line, borrowed for the call; NULL: the model's own translation.
 * @return CLF_TEXT for an unusable line; CLF_BAD_ARGUMENT for a NULL translator or source.
 */
CLF_API clf_status clf_attend(struct clf_attention_maps **out, struct clf_translator *translator,
                              const struct clf_line *source, const struct clf_line *target);

/** Frees attention maps; NULL is ignored. */
CLF_API void clf_attention_maps_free(struct clf_attention_maps *maps);

/** Returns the subword token of a target id, owned by the model; NULL for an id outside the vocabulary. */
CLF_API const char *clf_target_piece(const struct clf_model *model, int32_t id);

/** Returns the id of a target subword token, or -1 if the vocabulary does not hold it. */
CLF_API int32_t clf_target_id(const struct clf_model *model, const char *piece);

/** Returns the times and counts since the translator was created; owned by the translator, whose next call
 * updates them. */
CLF_API const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator);

#ifdef __cplusplus
}
#endif
#endif
