/* Translating and scoring text, and computing attention maps. */
#ifndef CLFORMER_TRANSLATOR_H
#define CLFORMER_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/glossary.h>
#include <clformer/model.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A translator: options for a model, plus the device memory for one batch or an engine (engine.h) that
 * several translators share. Any number of threads may use a translator at the same time; their lines share
 * batches. A call from a callback of the same translator (its hooks, or the log function) returns
 * CLF_BAD_ARGUMENT. */
struct clf_translator;

/* How the score of a hypothesis depends on its sum of log-probabilities and its length. */
typedef enum clf_length_rule {
    CLF_LENGTH_HUGGINGFACE = 0, /* score = sum / length^penalty */
    CLF_LENGTH_GNMT = 1,        /* score = sum / ((5 + length) / 6)^penalty (Wu et al. 2016, section 7) */
    CLF_LENGTH_NONE = 2,        /* score = sum */
    /* score = sum / (1 + length)^penalty: the start token is counted, as in the Translator of
     * jadore1801120/attention-is-all-you-need-pytorch */
    CLF_LENGTH_INCLUDING_START = 3,
} clf_length_rule;

/* When a beam search ends. */
typedef enum clf_early_stopping {
    CLF_STOP_FALSE = 0, /* FALSE, TRUE and NEVER: early_stopping in transformers */
    CLF_STOP_TRUE = 1,
    CLF_STOP_NEVER = 2,
    /* Each beam continues past its end token until all beams have one, as in the Translator of
     * jadore1801120/attention-is-all-you-need-pytorch; tokens after the first end token count in the score
     * but are removed from the text. */
    CLF_STOP_ALL = 3,
    CLF_STOP_SHRINK = 4, /* finished beams are removed and the beam shrinks (Marian) */
    /* As in CTranslate2: the search ends when round(beam * patience) hypotheses have finished. Without a
     * length penalty and a coverage penalty, it instead ends when n_best have finished and the best candidate
     * of a step was one of them. */
    CLF_STOP_CTRANSLATE2 = 5,
} clf_early_stopping;

/* Which lines the device takes first, of the lines that wait. */
typedef enum clf_priority {
    CLF_PRIORITY_INTERACTIVE = 0, /* before bulk lines */
    /* Translated while no interactive line waits, and once after every 32 interactive lines, so that bulk
     * lines never starve. Lines in the batch finish first, whatever their priority. */
    CLF_PRIORITY_BULK = 1,
} clf_priority;

/* A part of a translation and the part of the source with which it is aligned, in bytes. */
struct clf_alignment_link {
    size_t source, source_size; /* part of clf_sentence.source */
    size_t text, text_size;     /* part of clf_sentence.text */
};

/* A sentence of a line, or part of a sentence that is too long for the model; valid during the callback. */
struct clf_sentence {
    size_t size;        /* size of this struct in the library, see clformer.h */
    const char *source; /* (source_size) without surrounding white space; not NUL-terminated */
    size_t source_size;
    const char *text; /* the translation, NUL-terminated */
    /* (link_count) for each token of the translation, in order, the source token with the highest attention;
     * tokens that are not text are left out. NULL without alignment_layer. */
    const struct clf_alignment_link *links;
    int link_count;
};

struct clf_translation; /* below */

/* A token of a growing translation; valid during the callback. */
struct clf_generated_token {
    size_t size; /* size of this struct in the library, see clformer.h */
    int step;    /* index of the token in the translation, from 0; tokens of a target prefix count */
    int32_t id;
    double log_probability; /* natural logarithm; 0 for a token of a target prefix. Banned tokens have
                               probability 0 */
    int is_last;            /* 1: the end token, or the last token at the maximum length */
    /* (logit_count) with wants_logits: the logits from which the token was chosen, with penalties; banned
     * tokens have -FLT_MAX. NULL without it. */
    const float *logits;
    int logit_count;
};

/* Translation options; start from clf_translate_options_init(), which uses the model's own values.
 * include/clformer/README.md explains the fields in detail. */
struct clf_translate_options {
    size_t size; /* size of this struct, see clformer.h */

    /* ---- Simple ---- */
    int beam;   /* 1: greedy search */
    int n_best; /* translations per line, at most beam; with sample, samples per line */
    /* Language codes of a multilingual model, or unambiguous short forms ("pt" for "por_Latn"). NULL: the
     * languages that the model folder sets. */
    const char *source_language, *target_language;
    const char *task;    /* one of the model's tasks, see clf_translate_options_init_task(); NULL: none */
    int split_sentences; /* 1: split lines into sentences and translate each sentence; requires n_best 1 and
                            text */
    int batch_tokens;    /* maximum source tokens in a batch; 0: chosen for the device and the model */

    /* ---- Search ---- */
    int min_length, max_length; /* in generated tokens, including the end token */
    double max_length_factor;   /* maximum length as a multiple of the source length (Marian); 0: none */
    clf_length_rule length_rule;
    double length_penalty;
    clf_early_stopping early_stopping;
    double patience; /* above 0; with CLF_STOP_CTRANSLATE2 only */
    /* exponential_decay_length_penalty in transformers; a factor of 1 changes nothing. */
    int length_decay_start;
    double length_decay_factor;
    double coverage_penalty;   /* as in CTranslate2 (Wu et al. 2016, section 7); 0: off */
    int32_t forced_first;      /* id of the first generated token, or -1 */
    int32_t forced_last;       /* id at max_length, or -1 */
    const int32_t *suppressed; /* (suppressed_count) additional ids that are never generated */
    int suppressed_count;
    /* (banned_offsets[banned_count]) additional sequences of ids that are never generated: sequence i is
     * banned_ids[banned_offsets[i]] .. banned_ids[banned_offsets[i + 1] - 1]. A sequence that is only the end
     * token has no effect. */
    const int32_t *banned_ids;
    const int32_t *banned_offsets;
    int banned_count;
    const int32_t
        *end_ids; /* (end_count) ids that end a translation, instead of the model's; NULL: the model's */
    int end_count;
    int renormalize;                   /* 1: apply log-softmax again after banning tokens */
    int no_repeat_ngram_size;          /* no n-gram of this size occurs twice; 0: off */
    int encoder_no_repeat_ngram_size;  /* no source n-gram of this size occurs; 0: off */
    double repetition_penalty;         /* as in transformers, above 0; 1: off */
    double encoder_repetition_penalty; /* as in transformers, above 0; 1: off */
    int alternatives;                  /* 1 to 128 translations that differ in the first token; 0: off */
    int beam_groups;                   /* above 1: diverse beam search (Vijayakumar et al. 2016) */
    double diversity_penalty;          /* above 0 with beam_groups above 1 */
    const char *shortlist;             /* path of a lexical shortlist of Marian; NULL: the model's own,
                                          if any; "none": all words */
    struct clf_glossary *glossary; /* terms that translations must contain; NULL: none. The translator keeps
                                      it, so it may be freed at once */

    /* ---- Sampling ---- */
    int sample;         /* 1: sample tokens, as do_sample in transformers */
    double temperature; /* above 0; scores are divided by it */
    int top_k;          /* keep the k most probable tokens; 0: off */
    double top_p;       /* nucleus sampling: total probability of the tokens to keep, 0 to 1; 1: off */
    double min_p;       /* 0 to 1: remove tokens below min_p times the highest probability; 0: off */
    double typical_p;   /* above 0, at most 1: locally typical sampling (Meister et al. 2022); 1: off */
    double epsilon_cutoff, eta_cutoff; /* 0 to 1: truncation sampling (Hewitt et al. 2022); 0: off */
    uint64_t seed; /* samples depend on the line, the seed and the options, not on the batch */

    /* ---- Text ---- */
    int subwords;        /* 1: lines and translations are subword tokens separated by white space */
    int exact_tokens;    /* 1: with subwords, no start, language or end token is added to lines, prefixes and
                            targets */
    int replace_unknown; /* 1: replace unknown tokens with the source token that has the highest attention */
    int alignment_layer; /* decoder layer, from 1, that fills clf_hypothesis.alignment; 0: no alignment */

    /* ---- Hooks: each may be NULL and runs on the calling thread ---- */
    /* Called between steps; non-zero ends the call with CLF_INTERRUPTED. */
    int (*interrupted)(void *payload);
    /* Called between steps, before `interrupted`, for example to update a progress display. */
    void (*poll)(void *payload);
    /* Called with each new part of the translation of lines[line]: `size` bytes of whole words or characters.
     * The concatenated parts are the translation. Requires beam 1, n_best 1 and no split_sentences. */
    void (*streamed)(int line, const char *text, size_t size, void *payload);
    /* Called with each token of the translation of lines[line], in order, including tokens of a target prefix
     * and the end token; non-zero ends the translation with this token. The device continues during the call;
     * tokens that it generates meanwhile are discarded. Requires beam 1, n_best 1, and no alternatives,
     * split_sentences, replace_unknown, coverage_penalty, glossary or `streamed`. */
    int (*generated)(int line, const struct clf_generated_token *token, void *payload);
    /* Called once for each line of clf_translate(), in order, as soon as the line and all lines before it are
     * finished. `translation` is the result of lines[line]. If the call fails, the remaining lines are not
     * reported. */
    void (*translated)(int line, const struct clf_translation *translation, void *payload);
    /* Called with each sentence of lines[line] in order; requires split_sentences. Not called for a line that
     * failed. With split_sentences, alignment_layer requires this hook, which receives the alignment;
     * clf_hypothesis.alignment is NULL. */
    void (*sentence_translated)(int line, const struct clf_sentence *sentence, void *payload);
    void *payload; /* last argument of the hooks */

    /* ---- Several calls at a time ---- */
    clf_priority priority;
    int wants_logits; /* 1: `generated`, which is required, receives logits */

    /* ---- Speculative decoding (Leviathan et al. 2023) ---- */
    /* A smaller model on the same device and with the same vocabulary, or NULL. It proposes up to 8 tokens at
     * a time, which one decoding step of the model verifies, so that each line needs fewer steps;
     * translations and scores are the same, bit for bit. Lines are translated one after another. Requires
     * beam 1, one device, text models with self-attention in the decoder, and no sampling, alternatives,
     * glossary, coverage_penalty or `generated`. Not for a translator that shares an engine. Borrowed until
     * the translator is freed. */
    struct clf_model *draft;
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
    float score;  /* the value that ranks the hypothesis; the log-probability for greedy search and samples */
    double log_probability; /* sum of natural log-probabilities including the end token; banned tokens have
                               probability 0 */
    /* (count) for each id the index of the source token with the highest attention, or -1 if the id is not
     * text. Index 0 is the first token of the text or of a task's prefix; framing tokens are not counted.
     * NULL without alignment_layer. */
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
    /* (missing_count) target terms of the glossary that hypotheses[0] lacks; NULL: none. */
    char **missing_terms;
    int missing_count;
};

/* Seconds by stage since the translator was created. */
struct clf_stage_times {
    size_t size; /* size of this struct in the library, see clformer.h */
    double tokenize, encode, decode, search,
        detokenize; /* seconds. If the device was opened with profiling, encode ends when the device has
                       finished; otherwise decode may include waiting for it */
    int64_t lines, source_tokens, target_tokens;
    int64_t steps, step_rows;   /* number of decoding steps, and of hypotheses summed over the steps */
    int64_t batches;            /* batches of lines that were encoded or scored together */
    int64_t proposed, accepted; /* tokens that a draft model proposed, and that the model selected, too */
};

/**
 * Creates a translator.
 *
 * @param out receives the translator; free it with clf_translator_free() before its model.
 * @param model borrowed until the translator is freed.
 * @param options copied, including the lists of ids; NULL for the model's values.
 * @return CLF_BAD_ARGUMENT for a NULL model, an option that is out of range or a language that the model does
 *         not have, naming the option or language.
 */
CLF_API clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                         const struct clf_translate_options *options);

/**
 * Creates a translator over several models: one model folder loaded on several devices. Each call distributes
 * its lines: one thread per device takes waiting lines while the device has capacity. Translations do not
 * depend on the distribution, except for the last bits of scores if devices differ. A device that fails is no
 * longer used, a warning is logged, and the other devices take its lines; a call fails if no device is left.
 * Callbacks run on the calling thread; text that options.streamed received from a failed device is not
 * repeated. clf_attend() uses one working device. Each device has memory for batch_tokens.
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

/** Frees a translator; NULL is ignored. While a call on the translator is running, the translator is not
 * freed and a warning is logged. */
CLF_API void clf_translator_free(struct clf_translator *translator);

/**
 * Translates lines with continuous batching: when a line is finished, a waiting line takes its place. Lines
 * are processed in groups of consecutive lines, longest first within a group.
 *
 * @param out receives (count) translations in the order of the lines; free them with clf_translations_free().
 * @param translator the translator.
 * @param lines (count) lines, borrowed for the call; an empty or blank line gives CLF_OK and no hypothesis.
 * @param count number of lines, 0 or more.
 * @return CLF_OK even if individual lines are unusable; the error of a failing device or allocation;
 *         CLF_INTERRUPTED; CLF_BAD_ARGUMENT for a negative count, NULL lines or a NULL translator.
 */
CLF_API clf_status clf_translate(struct clf_translation **out, struct clf_translator *translator,
                                 const struct clf_line *lines, int count);

/**
 * Translates lines with forced prefixes, like decoder_input_ids in transformers. The tokens of a prefix do
 * not count towards scores or the lengths that normalise them, but they do count towards the minimum and
 * maximum length and in all rules about preceding tokens. Ids and text of the result begin with the prefix.
 * The token of options.forced_first comes before the prefix. Cannot be combined with split_sentences.
 *
 * @param out as clf_translate().
 * @param translator the translator.
 * @param lines as clf_translate().
 * @param prefixes (count) beginnings of the translations; an empty prefix forces nothing. NULL: no prefixes.
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
    size_t size; /* size of this struct in the library, see clformer.h */
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

/** Returns the times and counts since the translator was created; owned by the translator and updated by its
 * next call. */
CLF_API const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator);

/* One of the devices of a translator. */
struct clf_translator_device {
    size_t size; /* size of this struct in the library, see clformer.h */
    const struct clf_device_info *device;
    int batch_tokens;                    /* maximum source tokens in a batch */
    int batch_lines;                     /* maximum lines in a batch */
    int is_lost;                         /* 1: the device failed and is no longer used */
    const struct clf_stage_times *times; /* the work of this device since the translator was created */
};

/** Returns device `index` of a translator, from 0; NULL if the translator has fewer devices. Owned by the
 * translator and valid until its next call. */
CLF_API const struct clf_translator_device *clf_translator_device_at(struct clf_translator *translator,
                                                                     int index);

#ifdef __cplusplus
}
#endif
#endif
