/* The search for what is said in windows of recordings, each by itself, as openai/whisper's decoding.py
 * defines it (Radford et al. 2022, 4.5): greedy or beam search under the rules of timestamps, or above the
 * temperature 0 samples, of which the best one counts. It asks the model for ranges of ids in place of all
 * logits, and the model draws, too.
 *
 *     clf__passage_create(&passage, &limits)
 *     clf__passage_begin(passage, &rules, prompt, count, slot)    each window
 *     while ((step = clf__passage_prepare(passage)) != NULL) {
 *         the model fills the step
 *         clf__passage_advance(passage)
 *     }
 *     clf__passage_result(passage, slot) */
#ifndef CLF_SEARCH_PASSAGE_H
#define CLF_SEARCH_PASSAGE_H

#include "search/search.h"

/* Ids are text below end_id, special from there on, and from timestamp_begin on times. */
struct clf__passage_rules {
    int vocabulary;
    int32_t end_id, timestamp_begin;
    int32_t no_speech_id, start_id; /* of the transcript */
    int has_timestamps;             /* the rules of timestamps hold */
    int text_only;             /* without timestamps: no special token, the end among them, and no time */
    int first_timestamps;      /* so many of them may come first; 0: all */
    const int32_t *suppressed; /* never generated; ascending, none twice */
    int suppressed_count;
    const int32_t *suppressed_first; /* those and what does not come first; likewise */
    int suppressed_first_count;
    int most_tokens;       /* generated, the end token included */
    double patience;       /* the search ends with beams * patience finished hypotheses, rounded */
    double length_penalty; /* scores are divided by ((5 + length) / 6)^penalty; below 0: by the length */
    double temperature;    /* 0: beams; above: samples of softmax(logits / temperature) */
    uint64_t random_key;   /* of what is drawn: the same one draws the same, whatever else is searched */
};

struct clf__passage;

enum { CLF__PASSAGE_RANGES = 4 }; /* of a step's row */

/* What a search has room for. */
struct clf__passage_limits {
    int slots;     /* windows at a time */
    int beams;     /* 1: greedy; < CLF__SEARCH_BEAMS_LIMIT */
    int samples;   /* at temperatures above 0; 0: there are none */
    int positions; /* of the decoder */
    int wanted;    /* clf__passage_wanted(); of a greedy search up to 1 */
    int finished;  /* hypotheses that are set aside: at least beams, beams * patience, and samples */
    int banned;    /* ids of a row */
};

/* How many finished hypotheses end a search with beams. */
int clf__passage_wanted(int beams, double patience);
/* Rows of a window, and candidates of a row. */
int clf__passage_rows(const struct clf__passage_limits *limits);
int clf__passage_candidates(const struct clf__passage_limits *limits);

/* Everything is allocated here. */
clf_status clf__passage_create(struct clf__passage **out, const struct clf__passage_limits *limits);
void clf__passage_free(struct clf__passage *passage);

/* Begins a search in sequence slot `slot`, whose last one is over, behind a prompt of 1 to `positions` ids in
 * which start_id comes; rules and prompt stay the caller's, and as they are, until the result is read. */
void clf__passage_begin(struct clf__passage *passage, const struct clf__passage_rules *rules,
                        const int32_t *prompt, int count, int slot);
/* No search is under way any more, such as those of a call that failed. */
void clf__passage_forget(struct clf__passage *passage);
/* What the model is asked next; NULL: all searches are over. */
struct clf__step *clf__passage_prepare(struct clf__passage *passage);
void clf__passage_advance(struct clf__passage *passage);

/* What was found at a slot; `ids` are the passage's until that begins again. */
struct clf__passage_result {
    const int32_t *ids; /* without the end token */
    int count;
    double log_probability; /* summed, the end token's included where it was generated */
    double no_speech;       /* the probability that nobody speaks */
    int is_not_finite;      /* the search ended at a logit that is NaN or +inf; there are no ids */
};
struct clf__passage_result clf__passage_result(const struct clf__passage *passage, int slot);

/* timestamps.c: which ids may follow these, and which of them the model's answer leaves. */

/* The ranges of a row: the no-speech token before the bans, then text, special tokens, and times. */
enum { CLF__RANGE_NO_SPEECH, CLF__RANGE_TEXT, CLF__RANGE_SPECIAL, CLF__RANGE_TIMES };
/* ranges (CLF__PASSAGE_RANGES, 2) of what may follow `count` generated ids. */
void clf__timestamps_ranges(int32_t *ranges, const struct clf__passage_rules *rules, const int32_t *ids,
                            int count);
/* What the model's answer leaves of a row: its ranges from `first` on, and log sum exp(x) of them. values and
 * range_ids are (CLF__PASSAGE_RANGES, k), statistics (CLF__PASSAGE_RANGES, 2). */
struct clf__allowed {
    int first;
    double normaliser;
};
struct clf__allowed clf__timestamps_allowed(const struct clf__passage_rules *rules, const float *values,
                                            const int32_t *range_ids, const float *statistics, int k);
/* Candidates of one row, best first, at most k: ids, and their log-probabilities among what is allowed.
 * Returns how many there are. */
int clf__timestamps_candidates(int32_t *ids, double *log_probabilities,
                               const struct clf__passage_rules *rules, const float *values,
                               const int32_t *range_ids, const float *statistics, int k);

/* The key of a window's draws: which window of a recording, and which try at it. */
uint64_t clf__draws_key(uint64_t seed, int64_t window, int attempt);

#endif
