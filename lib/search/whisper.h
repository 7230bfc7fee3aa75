/* Whisper decoding: the search for the transcript of each window, as in openai/whisper's decoding.py (Radford
 * et al. 2022, section 4.5): greedy or beam search under the timestamp rules or, at temperatures above 0, the
 * best of several samples. The search asks the model for candidates in ranges of ids instead of all logits;
 * the model also draws the samples.
 *
 *     clf__whisper_create(&whisper, &limits)
 *     clf__whisper_begin(whisper, &rules, prompt, count, slot)   for each window, at any time between steps
 *     while ((step = clf__whisper_prepare(whisper)) != NULL) {
 *         the model fills the step
 *         clf__whisper_advance(whisper)
 *         clf__whisper_result(whisper, slot)   for each window whose search is over
 *     } */
#ifndef CLF_SEARCH_WHISPER_H
#define CLF_SEARCH_WHISPER_H

#include "base/status.h"
#include "search/types.h"

/* Ids below end_id are text, ids from timestamp_begin up are timestamps, and the ids in between are special
 * tokens. */
struct clf__whisper_rules {
    int vocabulary;
    int32_t end_id, timestamp_begin;
    int32_t no_speech_id, start_id; /* start_id: the start token of the transcript */
    int has_timestamps;             /* the timestamp rules apply */
    int text_only; /* without timestamps: no special tokens (including the end token) and no timestamps */
    /* Above 0, with the prompt start_id, beams and most_tokens 1: the only token is one of the languages, the
     * ids after start_id. */
    int languages;
    int first_timestamps;      /* number of timestamps allowed as the first token; 0: all */
    const int32_t *suppressed; /* never generated; ascending, without duplicates */
    int suppressed_count;
    const int32_t *suppressed_first; /* suppressed ids and ids not allowed as the first token; ascending,
                                        without duplicates */
    int suppressed_first_count;
    int most_tokens;       /* maximum number of generated tokens, including the prefix and the end token */
    int beams;             /* 1: greedy; at most limits.beams */
    int samples;           /* number of samples if temperature is above 0; at most limits.samples */
    double patience;       /* the search ends with beams * patience finished hypotheses, rounded */
    double length_penalty; /* scores are divided by ((5 + length) / 6)^penalty; negative: by the length */
    double temperature;    /* 0: beam search; above 0: samples of softmax(logits / temperature) */
    int top_k;             /* samples: only the best k ids are drawn; 0: all */
    int prefix_count;      /* number of ids at the end of the prompt that are the start of the result */
    int no_repeat_ngram;   /* no n-gram of this size occurs twice in the result; 0: off */
    double
        repetition_penalty; /* divides positive logits of ids in the result, multiplies others; 0 or 1: off */
    /* 1: beams end as in CTranslate2. The search ends when beams * patience hypotheses have finished or, with
     * length penalty 0, when `wanted` have finished and the best candidate of a step was one of them; scores
     * are divided by length^penalty. */
    int follows_ctranslate2;
    int wanted;          /* with follows_ctranslate2: number of results */
    uint64_t random_key; /* random key of the samples, which do not depend on other windows */
    /* With one beam and temperature 0: the tokens after the prompt, instead of the best candidates. The
     * first prefix_count of them are the prefix, which the prompt does not have then. The search ends after
     * them; `most_tokens` has room for them. NULL: none. */
    const int32_t *forced; /* (forced_count) */
    int forced_count;
    /* With `forced`: receives the logits at each of these tokens, with the penalty; ids that the rules do not
     * allow have -FLT_MAX. */
    float *logits; /* (forced_count, vocabulary) */
};

struct clf__whisper;

enum { CLF__WHISPER_RANGES = 4 }; /* number of id ranges per row */

/* Capacity of a search. The result of a window does not depend on it. */
struct clf__whisper_limits {
    int slots;     /* number of windows that are decoded concurrently */
    int beams;     /* maximum of rules.beams; < CLF__SEARCH_BEAMS_LIMIT */
    int samples;   /* maximum of rules.samples; 0: no sampling */
    int positions; /* number of decoder positions */
    int wanted;    /* maximum of clf__whisper_wanted(); up to 1 for greedy search */
    int finished;  /* finished hypotheses: at least beams, beams * patience, and samples; with
                      follows_ctranslate2, `beams` more */
    int banned;    /* maximum banned ids per row */
    int logits;    /* vocabulary, if rules have a repetition penalty, top_k or logits; 0: no rules need logits
                    */
};

/* Returns the number of finished hypotheses at which a beam search ends. */
int clf__whisper_wanted(int beams, double patience);
/* Return the number of rows of a window and of candidates per row. */
int clf__whisper_rows(const struct clf__whisper_limits *limits);
int clf__whisper_candidates(const struct clf__whisper_limits *limits);

/* Allocates all memory of the search. */
clf_status clf__whisper_create(struct clf__whisper **out, const struct clf__whisper_limits *limits);
void clf__whisper_free(struct clf__whisper *whisper);

/* Begins a search in sequence slot `slot`, whose previous search is finished. The prompt has 1 to `positions`
 * ids including start_id. Rules and prompt are owned by the caller and must not change until the result is
 * read. */
void clf__whisper_begin(struct clf__whisper *whisper, const struct clf__whisper_rules *rules,
                        const int32_t *prompt, int count, int slot);
/* Ends the search of a slot, if there is one, without a result. */
void clf__whisper_remove(struct clf__whisper *whisper, int slot);
/* Returns 1 if a slot has no search that needs further steps. */
int clf__whisper_is_over(const struct clf__whisper *whisper, int slot);
/* Returns the next step for the model; NULL: all searches are finished. */
struct clf__step *clf__whisper_prepare(struct clf__whisper *whisper);
void clf__whisper_advance(struct clf__whisper *whisper);

/* A hypothesis of a result. */
struct clf__whisper_text {
    const int32_t *ids; /* without the end token */
    int count;
    double log_probability; /* sum over all generated tokens, including the end token if there is one */
    double score;           /* log_probability normalised by the length rule */
    int sample;             /* sample number; 0 for beams */
    int has_ended;          /* 1: by an end token, which `ids` omits */
};

/* The result of a slot, owned by the search and valid until the next search in the slot begins or the result
 * of another slot is read. */
struct clf__whisper_result {
    const struct clf__whisper_text *texts; /* (text_count) best first */
    int text_count;
    const int32_t *ids; /* the best text; NULL: no text */
    int count;
    double log_probability;
    double no_speech;  /* probability that the window holds no speech */
    int is_not_finite; /* the search ended at a logit that is NaN or +inf; there are no ids */
};
struct clf__whisper_result clf__whisper_result(const struct clf__whisper *whisper, int slot);

/* timestamps.c: the timestamp rules select the allowed ids, and the candidates among the model's outputs. */

/* The ranges of a row: the no-speech token (before bans), then text, special tokens and timestamps. */
enum { CLF__RANGE_NO_SPEECH, CLF__RANGE_TEXT, CLF__RANGE_SPECIAL, CLF__RANGE_TIMES };
/* Writes the allowed ranges (CLF__WHISPER_RANGES, 2) after `count` generated ids. The rules ignore the
 * prefix, but the rule for the first id does not apply after a prefix. */
void clf__timestamps_ranges(int32_t *ranges, const struct clf__whisper_rules *rules, const int32_t *ids,
                            int count);
/* The allowed ranges of a row, starting at `first`, and log sum exp(x) over their ids. values and range_ids
 * are (CLF__WHISPER_RANGES, k), statistics (CLF__WHISPER_RANGES, 2). */
struct clf__allowed {
    int first;
    double normaliser;
};
struct clf__allowed clf__timestamps_allowed(const struct clf__whisper_rules *rules, int count,
                                            const float *values, const int32_t *range_ids,
                                            const float *statistics, int k);
/* Writes at most k candidates of a row, best first: ids, and log-probabilities normalised over the allowed
 * ids. Returns the count. */
int clf__timestamps_candidates(int32_t *ids, double *log_probabilities,
                               const struct clf__whisper_rules *rules, int count, const float *values,
                               const int32_t *range_ids, const float *statistics, int k);

/* Returns the random key for one attempt to decode a window of a recording. */
uint64_t clf__draws_key(uint64_t seed, int64_t window, int attempt);

#endif
