/* Translating and scoring lines, and looking at the attention. */
#ifndef CLFORMER_TRANSLATOR_H
#define CLFORMER_TRANSLATOR_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/model.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model with working memory for so many tokens at a time. It does one call at a time: where a callback
 * (clf_translate_options.interrupted, or clf_log_set()'s) that runs within a call passes the same translator
 * to clf_translate(), clf_score(), clf_attend() or clf_translator_prepare(), it gets CLF_BAD_ARGUMENT. */
struct clf_translator;

typedef enum clf_length_rule {
    CLF_LENGTH_HUGGINGFACE, /* score = sum / length^penalty */
    CLF_LENGTH_GNMT,        /* score = sum / ((5 + length) / 6)^penalty (Wu et al. 2016, section 7) */
    CLF_LENGTH_NONE,        /* score = sum */
    CLF_LENGTH_JADORE, /* score = sum / (1 + length)^penalty: the start token counts too, as in the Translator
                        * of jadore1801120/attention-is-all-you-need-pytorch */
} clf_length_rule;

typedef enum clf_early_stopping {
    CLF_STOP_FALSE,
    CLF_STOP_TRUE,
    CLF_STOP_NEVER,
    CLF_STOP_ALL,    /* every beam runs on, past its end token too, until each has one, as in that Translator;
                      * what follows its first end token counts in a beam's score and is not part of it */
    CLF_STOP_NARROW, /* as Marian: a beam that ends is set aside, and so many fewer run on, until none does */
} clf_early_stopping;

/* A sentence of a line, or a part of one that was too long for the model, valid during the call that hands it
 * over. */
struct clf_sentence {
    const char *source; /* source_size bytes of the line, without white space around them; no NUL ends them */
    size_t source_size;
    const char *text; /* its translation */
};

struct clf_translation; /* below */

/* How to search; start from clf_translate_options_init(), which takes the model's own values. */
struct clf_translate_options {
    size_t size;    /* of this struct: see clformer.h */
    int beam;       /* 1: greedy */
    int n_best;     /* translations returned a line, at most beam; of samples see there */
    int min_length; /* generated tokens, the end token included */
    int max_length;
    clf_length_rule length_rule;
    double length_penalty;
    clf_early_stopping early_stopping;
    int renormalize;           /* log-softmax again after the banned tokens are gone */
    int32_t forced_first;      /* id of the first generated token, or -1 */
    int32_t forced_last;       /* id at max_length, or -1 */
    const int32_t *suppressed; /* ids never generated, in addition to the model's own */
    int suppressed_count;
    int batch_tokens; /* maximum of source tokens in a batch; 0 chooses by device and model: 2048 on a CPU */
    int pieces;       /* lines are pieces with white space between them, in and out */
    /* Asked between steps: non-zero ends the work with CLF_INTERRUPTED. May be NULL. */
    int (*interrupted)(void *user);
    void *user;
    /* Of a model with several languages, its own codes or short ones where they are unambiguous (pt for
     * por_Latn). NULL: the source language of the model's folder; and for the target what the folder forces
     * (forced_first) or says. */
    const char *source_language, *target_language;
    /* As in transformers: so many ids in a row never come twice in a translation, its start token counted,
     * and none of the source's come in it. 0: they may. Of frames the second must be 0. */
    int no_repeat_ngram_size, encoder_no_repeat_ngram_size;
    /* clf_translate() translates each sentence of a line by itself, also halves of one that is too long for
     * the model, and keeps the white space between them. Ids are those of all sentences, end tokens included,
     * scores their sums. The rules for the ends of sentences are the same for every language. Not for pieces
     * or frames, and not with n_best above 1. */
    int split_sentences;
    /* As in transformers: the score s of a token that is in the translation so far, the start token among
     * them, becomes s / p where s is 0 or more and s * p below, p > 0 (repetition_penalty); that of a token
     * of the source likewise with 1 / p (encoder_repetition_penalty; of frames it must be 1). Scores are
     * logits where beam is 1, and log-probabilities of beams. 1: nothing changes. Others take a copy of all
     * logits of a step from the device, and fewer lines at a time where they are many. */
    double repetition_penalty, encoder_repetition_penalty;
    /* 1: tokens are drawn by their probabilities (do_sample of transformers), with beam 1 n_best samples a
     * line, up to 128, in the order of their numbers; with more beams, among the continuations of all of them
     * (not with CLF_STOP_ALL). What is drawn depends on the line's tokens, the seed and these options alone,
     * so that a line has the same samples in every batch, and equal lines have equal ones. It takes a copy of
     * logits as penalties do. The filters act in this order, each on what the one before it left, and leave a
     * token at least.
     *     temperature     above 0; scores are divided by it
     *     top_k           all but the k best go, and what equals the last of these; 0: none goes
     *     top_p           0 to 1: the least probable go, as long as their sum is at most 1 - p; 1: none
     *     min_p           0 to 1: those less probable than p times the most probable one; 0: none
     *     typical_p       above 0, to 1: all but those whose log-probability is nearest to the mean, of the
     *                     sum p (Meister et al. 2022); 1: none
     *     epsilon_cutoff  0 to 1: those less probable than that; 0: none
     *     eta_cutoff      0 to 1: those less probable than the lesser of eta and sqrt(eta) * exp(-entropy)
     *                     (Hewitt et al. 2022); 0: none */
    int sample;
    double temperature;
    int top_k;
    double top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff;
    uint64_t seed;
    /* Told the text of a line of clf_translate() as it grows, with `user`: `size` bytes, valid until it
     * returns, that come next in the translation of lines[line]. They end behind a word, or a character of
     * scripts without spaces, never inside a character; a line's bytes together are its translation's text.
     * Lines of one call grow side by side. With beam 1, n_best 1 and without split_sentences. May be NULL. */
    void (*streamed)(void *user, int line, const char *text, size_t size);
    /* A lexical shortlist (Marian's, binary or in text, as it is or in gzip's form): the file of the words
     * that each source word is likely to become, of which alone a line's translation is made; a line's own,
     * whatever lines are beside it. NULL: the model folder's, where it has one; "none": all words. Given
     * targets are scored among all words. */
    const char *shortlist;
    /* A translation has at most so many times its source's tokens, rounded up, as Marian has it; both with
     * their end tokens. 0: max_length alone says. */
    double max_length_factor;
    /* Not 0: clf_translate() fills clf_hypothesis.alignment, by the cross-attention of this decoder layer, 1
     * the first one, in the mean of its heads. It runs the model once more over each translation, one by
     * one. The last layer but one often aligns best (Garg et al. 2019). Without split_sentences. */
    int alignment_layer;
    /* As transformers' exponential_decay_length_penalty: from the token on that comes after
     * length_decay_start generated ones, those that are given not counted, the score s of an end token
     * becomes s + |s| (f^n - 1), n the tokens since then, f length_decay_factor: above 1 the end comes
     * sooner. 1: nothing changes. */
    int length_decay_start;
    double length_decay_factor;
    /* 1: in the text each unknown token is the source's token that it looks at most, as it is written there,
     * by the cross-attention of alignment_layer, or where that is 0 of what a CTranslate2 folder says, or
     * else of the last layer but one in the mean of its heads. A part of a word is a token, too. The ids
     * stay. It runs the model once more over each translation that has one. Neither for frames nor with
     * streamed. */
    int replace_unknown;
    /* Above 0, to 128: a line has so many translations, each with another token behind what its target begins
     * with, the most probable first, as CTranslate2's return_alternatives: all tokens but those that end a
     * translation, whose probabilities are 1 together. What follows a token is the search's best; the score
     * is that of what follows and the token's log-probability together. Each is encoded by itself. Neither
     * with n_best above 1, sample, split_sentences nor streamed. */
    int alternatives;
    /* One of the model's tasks ("task_specific_params" of config.json; `clformer inspect` lists them): what
     * its prefix says is put before every source, and what the options do not say is as the task has it.
     * NULL: none. Start from clf_translate_options_init_task(), which takes the task's other values. Not with
     * pieces. */
    const char *task;
    /* After the length rule a translation's score gets this times the sum over the source's tokens of
     * log(min(c, 1)), c being how much all steps looked at the token, as CTranslate2's coverage_penalty (Wu
     * et al. 2016, section 7); greedy and samples too. What steps look at is the mean of so many first heads
     * of a decoder layer as a CTranslate2 folder says, else the first head of the last layer. Above 0 it is
     * against leaving parts of the source out. 0: nothing changes. Not with CLF_STOP_ALL. */
    double coverage_penalty;
    /* Above 1: diverse beams (Vijayakumar et al. 2016), as transformers 4 has them (num_beam_groups,
     * diversity_penalty): the beams are in so many groups of one size, each a beam search of its own. They
     * step one after the other, and to each the score of a token is less by the penalty, above 0, for every
     * beam of the groups before it that has just taken it; scores count that, log-probabilities do not. The
     * translations are the best of all groups. Neither with sample nor with CLF_STOP_ALL and
     * CLF_STOP_NARROW. Where renormalize is set it takes a copy of logits as penalties do. 1: one group. */
    int beam_groups;
    double diversity_penalty;
    /* With split_sentences: called with `user` for each sentence of lines[line], in order, before
     * clf_translate() returns. A line that failed has none. May be NULL. */
    void (*sentence_translated)(void *user, int line, const struct clf_sentence *sentence);
    /* Called with `user`, on the thread of clf_translate(), once for each of its lines in their order: as
     * soon as that line and every line before it are translated, or failed; with alternatives at the end of
     * the call. `translation` is what the call will return of lines[line], and is valid during the callback.
     * Not called for lines that remain when the call fails. May be NULL. */
    void (*translated)(void *user, int line, const struct clf_translation *translation);
};

/** Fills the `size` bytes of options with the model's own values; with zeros, which no translator takes,
 * where model is NULL. */
void clf_translate_options_init_sized(struct clf_translate_options *options, size_t size,
                                      const struct clf_model *model);

/** The same for the struct that the caller was compiled with. */
static inline void clf_translate_options_init(struct clf_translate_options *options,
                                              const struct clf_model *model)
{
    clf_translate_options_init_sized(options, sizeof *options, model);
}

/** Fills the `size` bytes of options with the values of one of the model's tasks, and names it in them; the
 * name must live until a translator is made of them.
 *
 * @return CLF_BAD_ARGUMENT for a task that the model does not have, naming those that it has.
 */
clf_status clf_translate_options_init_task_sized(struct clf_translate_options *options, size_t size,
                                                 const struct clf_model *model, const char *name);

/** The same for the struct that the caller was compiled with. */
static inline clf_status clf_translate_options_init_task(struct clf_translate_options *options,
                                                         const struct clf_model *model, const char *name)
{
    return clf_translate_options_init_task_sized(options, sizeof *options, model, name);
}

/* A line of input: size bytes of text, or for a speech model the path of a recording or of a .npy file of
 * frames; need not end in NUL. */
struct clf_line {
    const char *text;
    size_t size;
};

/* One translation of a line. */
struct clf_hypothesis {
    char *text;
    int32_t *ids;           /* generated ids, the end token included where there is one */
    int count;              /* 1 at least */
    float score;            /* what the search ranks by; greedy, samples: the log-probability */
    double log_probability; /* natural, summed, end token counted, computed without the banned tokens */
    /* (count) with alignment_layer: which token of the source each id looks at most, 0 the first one, those
     * that frame the text left out, those of a task's prefix counted; -1 for ids that are no text. Else NULL.
     */
    int *alignment;
};

/* What became of a line. */
struct clf_translation {
    clf_status status; /* CLF_TEXT, CLF_FILE or CLF_FORMAT: the line is unusable, or no translation was
                        * found; see problem */
    char *problem;     /* a sentence without the line's number, or NULL */
    int cut_from;      /* tokens or frames before it was cut at the model's limit; 0: not cut */
    int source_count;  /* tokens or frames that were read */
    struct clf_hypothesis *hypotheses; /* best first */
    int count; /* n_best or alternatives, or as many as the search found; 0: an empty line, or a problem */
};

/* Where time went, in seconds, since the translator was created. */
struct clf_stage_times {
    double tokenize, encode, decode, search, detokenize; /* where the device profiles, encode ends when it is
                                                          * done; elsewhere decode may wait for it */
    int64_t lines, source_tokens, target_tokens;
    int64_t steps, step_rows; /* of decoding, and the hypotheses of all steps together */
    int64_t batches;          /* of lines that were encoded, or scored, together */
};

/**
 * Creates a translator.
 *
 * @param out     receives it; free it with clf_translator_free() before its model.
 * @param model   borrowed for the translator's life.
 * @param options copied, the list of suppressed ids too; NULL takes the model's values.
 * @return CLF_BAD_ARGUMENT naming the option that is out of range or the language that the model does not
 * have, and for a model that is NULL.
 */
clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                 const struct clf_translate_options *options);

/**
 * Creates a translator over several models, one folder loaded on several devices. Each call shares its lines
 * out: a thread for each device takes the next ones that wait, as it has room, as many as it does beside
 * the others. What a line becomes does not depend on who takes it, but for the last bits of its scores where
 * devices differ. A device that fails is left out from then on, with a logged warning, and others take its
 * lines; a call fails where none is left. Callbacks are called on the thread of the call; what
 * options.streamed was told of a line before its device failed stays told. clf_attend() works on the first
 * device that did not fail. Each device holds batch_tokens at a time.
 *
 * @param models `count` of them, borrowed for the translator's life, each on a device of its own; those that
 * are NULL are left out, and one at least is not. One whose device failed in an earlier translator stays left
 * out.
 * @return as clf_translator_create(); CLF_BAD_ARGUMENT naming models that are not one folder in one
 * precision, or are on one device.
 */
clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options);

/**
 * Allocates now what translations need on the device; otherwise the first translation does.
 *
 * @return CLF_DEVICE_MEMORY with the sizes.
 */
clf_status clf_translator_prepare(struct clf_translator *translator);

/** Frees a translator; NULL is ignored. One that is at work is not freed, and a warning is logged. */
void clf_translator_free(struct clf_translator *translator);

/**
 * Translates lines in groups of consecutive ones, of each group the longest ones first: a line that is done
 * gives its place to one that waits.
 *
 * @param out   receives `count` translations in the order of the lines; free them with
 * clf_translations_free().
 * @param lines `count` of them; an empty one, or white space alone, gives no hypothesis and CLF_OK.
 * @return CLF_OK even where single lines could not be used; a failing device or memory fails the whole call,
 *         and so does a count below 0 or without lines, or no translator (CLF_BAD_ARGUMENT).
 */
clf_status clf_translate(struct clf_translation **out, struct clf_translator *translator,
                         const struct clf_line *lines, int count);

/**
 * Translates lines of which the translation's beginning is given, as transformers does where
 * decoder_input_ids are: its tokens are not the model's choice, have no part in scores, nor in the lengths
 * that these are divided by; but the options' minimum and maximum lengths count them, and so does every rule
 * about tokens that came before. Ids and text of the result begin with them. The token that
 * options.forced_first names comes before them. Not with split_sentences.
 *
 * @param prefixes `count` lines; one that is empty leaves its line to the model, as clf_translate() does.
 * NULL: all are.
 * @return as clf_translate(); a line of which the prefix is as long as a translation may be, or holds a token
 *         that ends one, gets CLF_TEXT.
 */
clf_status clf_translate_prefixed(struct clf_translation **out, struct clf_translator *translator,
                                  const struct clf_line *lines, const struct clf_line *prefixes, int count);

/** Frees the result of clf_translate(); NULL is ignored. */
void clf_translations_free(struct clf_translation *translations, int count);

/* The log-probability of a given target. */
struct clf_score {
    clf_status status; /* as in clf_translation; CLF_TEXT too where the model's numbers are not finite */
    char *problem;
    int cut_from;                   /* tokens or frames of the longer side before it was cut; 0: not cut */
    int cut_is_target;              /* that side is the target */
    double log_probability;         /* natural, summed over the target and its end token; nothing is banned */
    int32_t *ids;                   /* target ids, the end token included */
    float *token_log_probabilities; /* one for each id */
    int count;
};

/**
 * Scores given targets (forced decoding).
 *
 * @param out     receives `count` scores in order; free them with clf_scores_free().
 * @param sources `count` source lines.
 * @param targets `count` target lines; an empty target is its end token alone.
 * @return as clf_translate().
 */
clf_status clf_score(struct clf_score **out, struct clf_translator *translator,
                     const struct clf_line *sources, const struct clf_line *targets, int count);

/** Frees the result of clf_score(); NULL is ignored. */
void clf_scores_free(struct clf_score *scores, int count);

/* The attention of one pair of lines. Map (layer l, head h, query i, key j) of an attention with Q queries
 * and K keys is [((l * heads + h) * Q + i) * K + j]; each row sums to 1. */
struct clf_attention_maps {
    int encoder_layers, decoder_layers, encoder_heads, decoder_heads;
    int source_count,
        target_count;     /* S source tokens or frames; T decoder inputs: the start token, then the target */
    float *encoder;       /* (layers, heads, S, S) */
    float *decoder;       /* (layers, heads, T, T) */
    float *cross;         /* (layers, heads, T, S) */
    char **source_tokens; /* S readable tokens; "#1", "#2", ... for frames */
    char **target_tokens; /* T */
};

/**
 * The attention maps of every layer and head for a source and a target. One that is longer than the model's
 * limit is cut, with a logged warning.
 *
 * @param out    receives the maps; free them with clf_attention_maps_free().
 * @param target NULL: the model's own translation.
 * @return CLF_TEXT for a line that cannot be used; CLF_BAD_ARGUMENT for no translator or no source.
 */
clf_status clf_attend(struct clf_attention_maps **out, struct clf_translator *translator,
                      const struct clf_line *source, const struct clf_line *target);

/** Frees attention maps; NULL is ignored. */
void clf_attention_maps_free(struct clf_attention_maps *maps);

/** The piece of a target id, borrowed from the model; NULL for an id outside the vocabulary. */
const char *clf_target_piece(const struct clf_model *model, int32_t id);
/** The id of a target piece, or -1. */
int32_t clf_target_id(const struct clf_model *model, const char *piece);

/** Where time went so far; borrowed from the translator, and counted on by its next call. */
const struct clf_stage_times *clf_translator_times(const struct clf_translator *translator);

#ifdef __cplusplus
}
#endif
#endif
