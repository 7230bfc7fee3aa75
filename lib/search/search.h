/* Greedy and beam search, as Hugging Face's `generate` defines them. Knows the model by three callbacks. */
#ifndef CLF_SEARCH_SEARCH_H
#define CLF_SEARCH_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum clf__length_rule {
    CLF__LENGTH_HUGGINGFACE, /* score = sum / length^penalty, length = generated tokens, end token counted */
    CLF__LENGTH_GNMT,        /* score = sum / ((5 + length) / 6)^penalty (Wu et al. 2016, 7) */
    CLF__LENGTH_NONE,        /* score = sum */
    CLF__LENGTH_JADORE,      /* score = sum / (1 + length)^penalty: the start token counts too */
};
enum clf__early_stopping {
    CLF__STOP_FALSE,
    CLF__STOP_TRUE,
    CLF__STOP_NEVER,
    /* As jadore's Translator: no beam is set aside when it ends. It runs on, its score with it, until each of
     * them has an end token; then each is what it was up to its first one, and the best is the one whose
     * score is best by the length rule with that length. Where the limit comes first, it is the best sum. */
    CLF__STOP_ALL,
};

/* A step is asked for 2 * beams candidates a row, and gives 256 at most. */
#define CLF__SEARCH_BEAMS_LIMIT 128

/* Lengths count generated tokens, the end token included, the start token not. In transformers' terms:
 * max_length here = max_new_tokens = its max_length - 1; min_length here = min_new_tokens + 1 (which does not
 * count the end token) = its min_length (which counts the start token but not the end token). */
struct clf__search_options {
    int beams;  /* 1 = greedy; at most CLF__SEARCH_BEAMS_LIMIT */
    int n_best; /* hypotheses returned a source, <= beams */
    int vocabulary;
    int start_id, end_id;
    int min_length, max_length; /* 0 <= min <= max, max >= 1 */
    enum clf__length_rule length_rule;
    double length_penalty;
    enum clf__early_stopping early_stopping;
    int renormalize;           /* log-softmax again after the banned ids are gone */
    int forced_first;          /* id of the first generated token, or -1 */
    int forced_last;           /* id forced at max_length, or -1; stronger than forced_first */
    const int32_t *suppressed; /* ids never generated */
    int suppressed_count;
    /* Sequences never generated: concatenated ids; sequence i is [offsets[i], offsets[i + 1]). Of length 1:
     * always banned, unless it is the end id alone, which is ignored; longer: the last id is banned where the
     * ids before it, the start token among them, are the latest. Forced tokens are stronger than these. */
    const int32_t *bad_words;
    const int32_t *bad_word_offsets;
    int bad_word_count;
};

/* What search asks of the model at one step: for each row feed `tokens` at `positions`, and return the best
 * candidates.
 *
 * A slot is one of a place's `beams` places in the cache: place p owns slots p * beams .. p * beams + beams
 * - 1. Row r continues the history that slot parents[r] had after the step before (at position 0 there is
 * none; parents[r] is slots[r]) and is itself kept at slots[r]. Rows of one place are adjacent, its slots
 * ascending; several rows may share a parent. The rows of a place have one position; places have their own,
 * as their sources were admitted at different times. At position 0 a source has one row, later at most
 * `beams`: fewer only where there were too few candidates. Equal steps are asked of a source whatever the
 * others are. */
struct clf__step {
    int rows;
    const int32_t *tokens;         /* (rows) */
    const int32_t *positions;      /* (rows) 0 for the start token */
    const int32_t *slots;          /* (rows) */
    const int32_t *parents;        /* (rows) */
    const int32_t *places;         /* (rows) */
    const int32_t *banned;         /* concatenated ids; ascending in each row, none twice */
    const int32_t *banned_offsets; /* (rows + 1) */
    int candidates;                /* k wanted a row */
    int both_statistics;           /* the statistics before the bans are wanted too */
    /* Filled by the model. */
    float *values;     /* (rows, k) logits, largest first, equal ones by ascending id */
    int32_t *ids;      /* (rows, k); -1 where fewer than k were left */
    float *statistics; /* (rows, 4): max, log sum exp(x - max); the same two without the banned ids; without
                          both_statistics the first two are not read */
};

/* One finished hypothesis. */
struct clf__hypothesis {
    const int32_t *ids; /* generated tokens, the end token included where it was generated */
    int length;
    float score;            /* what the search ranks by; greedy: the log-probability */
    double log_probability; /* natural, summed, banned ids gone and the rest renormalised; a forced token adds
                               0 */
};

/* What search asks for. A failure of any of them ends the search with its status. */
struct clf__search_model {
    void *context;
    /* Sources are admitted in their order: source `first` to places[0], the next one to places[1], and so on.
     * Says in *admitted how many of the `count` that are waiting and have a free place come in now; where no
     * source is under search at least one must. Asked before the first step and whenever a source ended. */
    clf_status (*admit)(void *context, int first, const int *places, int count, int *admitted);
    clf_status (*step)(void *context, struct clf__step *step);
    /* A source is done: its n_best hypotheses, best first, the model's only during the call; its place is
     * free. Where the search found fewer, the rest are empty: length 0, score and log-probability -INFINITY.
     * Where a model ran out of candidates (its logits NaN) before anything was finished, the hypotheses are
     * what there was until then. */
    clf_status (*finish)(void *context, int source, int place, const struct clf__hypothesis *hypotheses);
};

/* options.c: CLF_BAD_ARGUMENT with a sentence unless the options make sense together. */
clf_status clf__search_check(const struct clf__search_options *options, int places);

/* bans.c: how many ids a row bans at most. */
size_t clf__bans_limit(const struct clf__search_options *options);

/* Searches all sources, at most `places` of them at a time: one that is done gives its place to one that
 * waits. Every source is independent of the others: of which they are, and of when it was admitted. Equal
 * scores go to the better beam, then to the lower id. Nothing is allocated between the first step and the
 * last. */
clf_status clf__search_run(const struct clf__search_options *options, int sources, int places,
                           const struct clf__search_model *model);

#endif
