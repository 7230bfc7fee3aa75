/* Data structures of a search: options, steps and results. */
#ifndef CLF_SEARCH_TYPES_H
#define CLF_SEARCH_TYPES_H

#include <stdint.h>

enum clf__length_rule {
    CLF__LENGTH_HUGGINGFACE,     /* score = sum / length^penalty, length = generated tokens including the end
                                    token */
    CLF__LENGTH_GNMT,            /* score = sum / ((5 + length) / 6)^penalty (Wu et al. 2016, 7) */
    CLF__LENGTH_NONE,            /* score = sum */
    CLF__LENGTH_INCLUDING_START, /* score = sum / (1 + length)^penalty: the start token is counted */
};
enum clf__early_stopping {
    CLF__STOP_FALSE,
    CLF__STOP_TRUE,
    CLF__STOP_NEVER,
    /* As in jadore1801120/attention-is-all-you-need-pytorch: a beam continues past its end token until all
       beams have one. Each beam is then cut after its first end token, and the best is chosen by the length
       rule with that length, or by the sum at the maximum length. */
    CLF__STOP_ALL,
    /* As in Marian: each step keeps one candidate per unfinished beam; candidates that have ended are
       finished and the beam shrinks. The search ends when the beam is empty. */
    CLF__STOP_SHRINK,
    /* As in CTranslate2: the search ends when round(beams * patience) hypotheses have finished. Without a
       length penalty and a coverage penalty, it instead ends when n_best have finished and the best candidate
       of a step was one of them. */
    CLF__STOP_CTRANSLATE2,
};

/* Maximum number of candidates per row of a step: (1 + number of end ids) per beam. */
#define CLF__SEARCH_CANDIDATES_LIMIT 256
#define CLF__SEARCH_BEAMS_LIMIT      (CLF__SEARCH_CANDIDATES_LIMIT / 2)

/* Sampling of continuations, as in transformers: after bans and penalties, scores are divided by the
 * temperature. Then these filters remove ids in this order, each based on the probabilities left by the
 * previous filter. */
struct clf__sampling {
    int is_on;
    float temperature; /* above 0 */
    int top_k;         /* keeps the best k ids and ids equal to the k-th; 0: off */
    float top_p;       /* removes the least probable ids while their sum is at most 1 - p; 1: off */
    float min_p;       /* removes ids less probable than p times the maximum; 0: off */
    float typical_p; /* keeps the ids with log-probability nearest to the mean, up to a total of p; 1: off */
    float epsilon_cutoff; /* removes ids less probable than epsilon; 0 or 1: off */
    float eta_cutoff;     /* removes ids less probable than min(eta, sqrt(eta) exp(-entropy)); 0 or 1: off */
    uint64_t seed;
};

/* Lengths count generated tokens, including the end token but not the start token. In transformers' terms:
 * max_length here = max_new_tokens = its max_length - 1; min_length here = min_new_tokens + 1 (which excludes
 * the end token) = its min_length (which includes the start token but not the end token). */
struct clf__constraints;
struct clf__search_options {
    int beams;  /* 1: greedy; at most CLF__SEARCH_BEAMS_LIMIT */
    int n_best; /* hypotheses returned per source, <= beams; with one beam and sampling at most
                   CLF__SEARCH_BEAMS_LIMIT */
    int vocabulary;
    int start_id, end_id;         /* start -1: the decoder starts with zeros instead of a token embedding */
    const int32_t *other_end_ids; /* (other_end_count) further ids that end a hypothesis */
    int other_end_count;
    int min_length, max_length; /* 0 <= min <= max, max >= 1 */
    double max_length_factor; /* maximum length as a multiple of the number of source ids, rounded up, if less
                                 than max_length; 0: off */
    int steps;                /* maximum number of tokens after the prefix; 0: no limit */
    enum clf__length_rule length_rule;
    double length_penalty;
    int divides_greedy; /* the length rule also applies to the score of greedy search */
    /* Above 1: the beams form this many groups of equal size, each with a separate search. The score of a
     * token is reduced by the penalty, above 0, for every beam of an earlier group that selected the token in
     * this step (Vijayakumar et al. 2016). The hypotheses of all groups are returned. 0 or 1: one group. */
    int groups;
    float diversity_penalty;
    /* After the length rule, coverage_penalty times the sum of log(min(c, 1)) over the source positions is
     * added to the score of every finished hypothesis. c is the attention that a position received in all
     * steps, including that of the end token; positions with c = 0 are skipped (Wu et al. 2016, section 7, as
     * in CTranslate2). 0: off. */
    double coverage_penalty;
    int coverage_start; /* generated tokens before the first step whose attention counts */
    int memory_limit;   /* maximum number of source positions, if attention is used */
    double patience;    /* of CLF__STOP_CTRANSLATE2, above 0 */
    enum clf__early_stopping early_stopping;
    int renormalize;       /* recompute log-softmax without the banned ids */
    const int32_t *prefix; /* (prefix_count) ids of the first generated tokens */
    int prefix_count;      /* <= max_length */
    int prefix_is_prompt;  /* 1: the prefix is a prompt: it counts towards the minimum and maximum length but
                              not the length rule, and at least one token follows it */
    int counts_prompt;     /* 1: the prompt counts towards the length rule, as in CTranslate2 */
    int forced_last;       /* id forced at max_length, or -1; overrides the prefix */
    const int32_t *suppressed; /* (suppressed_count) ids never generated */
    int suppressed_count;
    const int32_t *begin_suppressed; /* ids not allowed as the first token after the prefix */
    int begin_suppressed_count;
    int no_repeat_ngram;        /* no n-gram of this size occurs twice, including the start token; 0: off */
    int skips_start;            /* 1: n-grams and the repetition penalty do not include the start token, as in
                                   CTranslate2 */
    int source_no_repeat_ngram; /* no source n-gram of this size occurs; 0: off */
    int source_limit;           /* maximum number of source ids, if any option reads them */
    int keeps_logits; /* 1: clf__search_logits() returns the logits of each step; beams and n_best must be 1
                       */
    /* As in transformers: s * p for a negative score s, s / p for others. s is a logit in greedy search and a
     * log-probability in beam search. 1: off. */
    float repetition_penalty;        /* p for generated ids and the start token */
    float source_repetition_penalty; /* 1 / p for source ids */
    /* After decay_start generated tokens (without the prompt), the score s of an end id becomes s + |s|
     * (f^n - 1), where n is the number of tokens since then. f 1: off. */
    int decay_start;
    float decay_factor;
    struct clf__sampling sampling;
    int bad_word_count; /* number of sequences in the following two lists */
    /* Sequences that are never generated, as concatenated ids; sequence i is [offsets[i], offsets[i + 1]). A
     * single id is always banned, except the end id, which is ignored. A longer sequence bans its last id if
     * the hypothesis, including its start token, ends with the ids before it. Forced tokens override these
     * bans.
     */
    const int32_t *bad_words;
    const int32_t *bad_word_offsets;
    /* Sequences as above: the last id's score (logit or log-probability) gets a bias if the hypothesis ends
     * with the ids before it; applied before the repetition penalties. Biases of the same id are added. */
    int biased_count;
    const int32_t *biased;
    const int32_t *biased_offsets;
    const float *biases; /* (biased_count) finite */
    /* Phrases that a hypothesis must contain to end before the maximum length; requires beams above 1. NULL:
     * none. */
    const struct clf__constraints *constraints;
};

/* Where a form of a phrase may begin, by the id before it. */
enum {
    CLF__AFTER_NO_TEXT = 1, /* the start token, or another id that is not text */
    CLF__AFTER_WORD = 2,    /* an id whose text ends with a letter or a digit */
    CLF__AFTER_OTHER = 4,   /* other text, such as an opening quotation mark */
    CLF__AFTER_ALL = 7,
};

/* The ids of a phrase in one of its forms, such as with and without a space before it. */
struct clf__phrase_form {
    const int32_t *ids; /* (length) */
    int length;         /* 1 or more */
    int phrase;         /* index of the phrase */
    int places;         /* CLF__AFTER_..., combined */
};

enum { CLF__PHRASES_LIMIT = 64, CLF__PHRASE_TOKENS_LIMIT = 256, CLF__FORMS_EACH = 3 };

/* Phrases that a hypothesis must contain. Their occurrences are found from left to right: at each position
 * the longest form of a phrase that was not found before is taken, so occurrences do not overlap. The search
 * is dynamic beam allocation (constrained.c). */
struct clf__constraints {
    int phrase_count; /* 1 to CLF__PHRASES_LIMIT; their longest forms have at most CLF__PHRASE_TOKENS_LIMIT
                         ids in total */
    const struct clf__phrase_form
        *forms; /* (form_count) at least one and at most CLF__FORMS_EACH per phrase */
    int form_count;
    /* Returns what an id is for the id after it, CLF__AFTER_.... NULL: every form may begin everywhere. */
    int (*place_of)(void *user, int32_t id);
    /* Returns whether an id continues the word that another id ends: a form that ends a word is not found
     * before such an id. Called if there is place_of. */
    int (*continues_word)(void *user, int32_t before, int32_t id);
    void *user;     /* first argument of both */
    int hypotheses; /* finished hypotheses that are kept, n_best to beams, as the beam size of an
                              unconstrained search */
};

/* Returns 1 if an id ends a hypothesis. */
static inline int clf__is_end(const struct clf__search_options *options, int32_t id)
{
    int is_end = id == options->end_id;
    for (int i = 0; i < options->other_end_count; i++) {
        is_end |= id == options->other_end_ids[i];
    }
    return is_end;
}

/* A random draw of the token that follows a row of a step. The random numbers depend on sample, count and
 * key: draws that differ in one of them are independent. */
struct clf__draw {
    int32_t row;
    int32_t sample, count; /* sample number, and number of tokens generated before this draw */
    uint32_t key_low, key_high;
    float temperature; /* above 0 */
};

/* A source with beams in a step ahead, whose rows continue the best candidates of its rows in the previous
 * step. The score of a candidate is the score of its row plus (value - statistics[statistic]) -
 * statistics[statistic + 1]. The model chooses the `beams` candidates with the highest scores, then the
 * lowest row, then the lowest id, except end ids and scores that are NaN or -inf. It sets the token and the
 * parent of each of the source's rows; rows without a candidate get token -1 and score -inf. */
enum { CLF__CHOICE_ENDS = 4, CLF__CHOICE_CANDIDATES = 256, CLF__CHOICE_WORDS = 12 };
struct clf__beam_choice {
    int32_t from_row, from_rows; /* rows of the previous step */
    int32_t ranks;               /* candidates per row; from_rows * ranks <= CLF__CHOICE_CANDIDATES */
    int32_t row, beams;          /* rows of the step */
    int32_t cache_row;           /* cache row of from_row; the following rows have the following cache rows */
    int32_t statistic;           /* 0 or 2 */
    int32_t knows_scores;        /* 1: previous_scores has the scores of the rows; 0: the model chose them */
    int32_t ends[CLF__CHOICE_ENDS]; /* end ids; -1: none */
};

/* The inputs and outputs of the model for one step: the model processes `tokens` at `positions` and returns
 * the best candidates of each row. Ids whose scores the search changes are listed as banned, and logits are
 * requested.
 *
 * A cache row holds the history of one hypothesis. Slot p owns cache rows p * beams to p * beams + beams - 1,
 * where beams is from the limits. Row r continues the history of cache row parents[r] in the previous step
 * (at position 0 there is none, and parents[r] is cache_rows[r]) and is stored in cache_rows[r]. Rows of a
 * slot are adjacent with ascending cache rows; several rows may share a parent. The rows of a slot have the
 * same position; positions of slots differ, because sources start at different times. A source has one row at
 * position 0 and later one row per beam, or fewer if there were too few candidates. The rows of a source do
 * not depend on other sources. */
struct clf__step {
    int rows;
    const int32_t *tokens;     /* (rows) */
    const int32_t *positions;  /* (rows) 0 for the start token */
    const int32_t *cache_rows; /* (rows) */
    const int32_t *parents;    /* (rows) */
    const int32_t *slots;      /* (rows) */
    /* In a step that is prepared ahead: the row of the previous step whose best candidate is the row's token,
     * or -1 if `tokens` contains the token. NULL: -1 for all rows. */
    const int32_t *token_rows; /* (rows) */
    int choice_count;
    const struct clf__beam_choice *choices; /* (choice_count) */
    const float
        *previous_scores; /* (previous_rows) scores of the rows of the previous step, if choice_count > 0 */
    int previous_rows;
    const int32_t *banned;         /* concatenated ids; ascending and without duplicates in each row */
    const int32_t *banned_offsets; /* (rows + 1) */
    /* Prefill tokens before a row's own token, without outputs: prefill[prefill_offsets[r]] ..
     * prefill[prefill_offsets[r + 1] - 1] for row r. They continue the history of the row's own cache row.
     * prefill_offsets NULL: none. */
    const int32_t *prefill;
    const int32_t *prefill_offsets; /* (rows + 1) */
    /* 1: the rows are consecutive tokens of one hypothesis: they have the same cache row, which is also their
     * parent, and ascending positions, and each row sees the rows before it. The next step may start at any
     * position up to the one after the last row; later rows are forgotten. */
    int is_chain;
    int is_ahead;        /* 1: prepared before the results of the previous step were known */
    int candidates;      /* k candidates per row: the maximum over all sources */
    int both_statistics; /* 1: a source needs the statistics before bans */
    int wants_logits;    /* 1: a source needs the logits */
    /* (rows) 1: all logits of the row are computed, because its source reads logits or has picks. NULL: of
     * all rows with wants_logits, of none without. */
    const uint8_t *keeps_logits;
    int wants_attention; /* 1: a source needs the attention */
    /* Ids of each row whose logits are wanted, whether or not they are candidates or banned. */
    int picks_each;       /* number per row; 0: none */
    const int32_t *picks; /* (rows, picks_each) -1: none */
    /* Ranges of ids for each row: the k best ids and the statistics are computed for each range. The first
     * `ranges_before` ranges ignore bans. */
    int ranges_each;   /* number per row; 0: none */
    int ranges_before; /* <= ranges_each */
    const int32_t
        *ranges; /* (rows, ranges_each, 2): first id and end id (exclusive); empty if first >= end */
    /* With ranges: each draw selects an id in every range of its row, excluding bans, by softmax(logits /
     * temperature). The id with the largest value over several ranges is a draw from their union. */
    int draw_count;
    const struct clf__draw *draws; /* (draw_count) rows ascending */
    /* Filled by the model. */
    float *values;     /* (rows, k) logits, largest first, ties by ascending id */
    int32_t *ids;      /* (rows, k) -1 if fewer than k ids are left */
    float *statistics; /* (rows, 4): max, log sum exp(x - max), and both without banned ids; the first two are
                          read only with both_statistics. A log sum is NaN if a logit is NaN or +inf */
    float *logits;     /* (rows, V) if wants_logits: logits before bans */
    float *pick_values;    /* (rows, picks_each) logits before bans; -inf for id -1 */
    float *attention;      /* (rows, attention_columns) if wants_attention: attention of a row to each source
                              position, 0 after the last one */
    int attention_columns; /* at most limits.places */
    float *range_values;   /* (rows, ranges_each, k) as values, for each range */
    int32_t *range_ids;    /* (rows, ranges_each, k) */
    float *range_statistics; /* (rows, ranges_each, 2): max, log sum exp(x - max); both -inf if the range is
                                empty */
    float *draw_values;      /* (draw_count, ranges_each) */
    int32_t *draw_ids;       /* (draw_count, ranges_each) -1 if no id is left */
    float *draw_logits;      /* (draw_count, ranges_each) logits of the ids */
};

/* A finished hypothesis. */
struct clf__hypothesis {
    const int32_t *ids; /* generated tokens, including the end token if it was generated */
    int length;
    float score; /* the value that ranks the hypothesis; the log-probability for greedy search and samples */
    double log_probability; /* sum of natural log-probabilities, renormalised without banned ids; forced
                               tokens add 0 */
};

/* Capacity of a search. */
struct clf__search_limits {
    int slots;      /* number of sources that are searched concurrently */
    int beams;      /* maximum running hypotheses per source */
    int ends;       /* maximum end ids per source */
    int max_length; /* maximum length of a source's hypotheses */
    int vocabulary; /* vocabulary size of every source */
    int banned;     /* maximum banned ids per row, see clf__bans_limit() */
    int changed;    /* maximum ids per row whose scores penalties change */
    int logits;     /* 1: logits may be requested */
    int picks;      /* maximum number of ids per row whose logits are wanted */
    int kept;       /* 1: logits may be kept */
    int places;     /* source positions for which attention may be requested; 0: never */
    int ahead;      /* 1: steps may be prepared ahead */
    int proposals;  /* maximum number of proposed tokens, with one slot and one beam, and ahead 0; 0: none */
};

/* The result of a source. */
struct clf__search_result {
    int tag, slot; /* as passed to clf__search_add() */
    /* (count) best first, samples in the order of their numbers; n_best or fewer if the search found fewer.
     * Owned by the search and valid until its next call. If the candidates run out before a hypothesis is
     * finished, these are the running hypotheses; before the first token there are none. */
    const struct clf__hypothesis *hypotheses;
    int count;
    int is_not_finite; /* the search ended at a logit that is NaN or +inf; count is 0 */
};

#endif
