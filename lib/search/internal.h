/* Internal structures of the search: running hypotheses and the state of a search. */
#ifndef CLF_SEARCH_INTERNAL_H
#define CLF_SEARCH_INTERNAL_H

#include <stddef.h>
#include <string.h>

#include "search/options.h"

/* A list of ids, ascending and without duplicates. */
struct clf__id_list {
    int32_t *ids;
    int count;
};

/* The phrases that a hypothesis contains. */
struct clf__phrase_state {
    uint64_t met; /* bit i: phrase i was found */
    int begun;  /* number of ids, with the start token, before the ids that may still become an occurrence */
    int tokens; /* ids of the longest forms of the phrases that were found, plus the ids of a begun one */
};

/* A running hypothesis. */
struct clf__beam {
    int32_t *ids; /* (1 + max_length) the start token, then the generated tokens */
    int length;   /* generated tokens */
    int parent;   /* index among the source's beams in the previous step */
    int sample;   /* sample number */
    int end;      /* CLF__STOP_ALL: number of tokens up to and including the first end token; 0: none yet */
    float score;  /* running: sum of log-probabilities; finished: score by the length rule */
    double log_probability; /* excludes tokens after the end token */
    struct clf__phrase_state phrases;
    float *sums;     /* (1 + max_length) score after each id; NULL: the search has no constraints */
    float *coverage; /* (places) sum of the attention to each source position */
    int places;      /* length of `coverage`; 0: no coverage penalty */
};

/* A possible continuation of a source. */
struct clf__candidate {
    int beam; /* index of the running beam that it continues */
    int32_t id;
    float score;
    double log_probability;
    double key; /* sampled: the sort key */
    int rank;   /* rank among all candidates; 0 is the best or the first sampled */
    struct clf__phrase_state phrases;
};

/* The distribution for sampling the continuation of a row. */
struct clf__choice {
    float score;
    int32_t id;
    double probability, key;
};
struct clf__choices {
    struct clf__choice *items; /* owned by the search, valid until the next row is read */
    int count;
    double log_sum; /* log sum exp(score) */
    double dropped; /* total probability that the first filter removed before sorting */
};

/* A beam group of a source. */
struct clf__group {
    int first, running_count; /* range of the source's running beams */
    int finished_count; /* number of finished hypotheses; the group's part of `finished` has one element per
                           beam */
    int is_done;
};

/* A sequence slot and its source. */
struct clf__search_source {
    const struct clf__search_options *options; /* NULL: the slot is free */
    int tag;
    struct clf__beam *running;  /* (beams) best first */
    struct clf__beam *next;     /* (beams) the running beams of the next step, under construction */
    struct clf__beam *finished; /* (beams) best first */
    int running_count, finished_count;
    int ended_count;        /* hypotheses that have finished, kept or not */
    int best_has_ended;     /* 1: the best candidate of a step has finished */
    int32_t *always_banned; /* (limits.banned) ascending */
    int always_banned_count;
    const int32_t *source_ids; /* (source_count) the source's ids, if they were set */
    int source_count;
    uint64_t random_key;
    int has_parted;            /* the initial beam has been split into samples or groups */
    struct clf__group *groups; /* (beams) */
    int32_t *taken;            /* (beams) tokens that groups have selected in this step */
    int taken_count;
    int max_length;   /* the maximum of the options, or less for a short source */
    int is_in_step;   /* takes part in the prepared step */
    int forced;       /* the forced id of this step, or -1 */
    int first_row;    /* first row of the step; unused if the token is forced */
    int row_count;    /* rows of the step */
    int is_chosen;    /* 1: the model chose the tokens and parents of these rows */
    int can_be_ahead; /* clf__can_be_ahead() of its options */
    struct clf__step_place {
        int is_in_step, forced, first_row, row_count, is_chosen;
    } ahead;      /* the same for the step ahead */
    int proposed; /* number of proposed tokens, after the ids of the running hypothesis */
    int done;
    int is_not_finite; /* a relevant logit was NaN or +inf */
};

struct clf__search {
    struct clf__search_limits limits;
    struct clf__search_source *sources; /* (slots) */
    struct clf__candidate *candidates;  /* (clf__candidates_kept()) of one source in one step */
    struct clf__hypothesis *outcome;    /* (beams) the result that clf__search_take() returned last */
    struct clf__step step, ahead;       /* the prepared step, and the step after it if has_ahead */
    struct clf__step_tables {
        int32_t *tokens, *positions, *cache_rows, *parents, *slots, *banned, *banned_offsets, *token_rows;
        int32_t *picks; /* (rows, limits.picks) */
        uint8_t *keeps_logits;
        float *scores;                    /* (rows) scores of the hypotheses, if known */
        struct clf__beam_choice *choices; /* (slots) */
    } tables, ahead_tables;               /* arrays of these steps, filled by the search */
    int has_ahead;
    /* Ids in each row whose scores penalties change. They are passed to the model as banned. */
    int32_t *changed; /* (rows, limits.changed) */
    int *changed_counts;
    int32_t *listed;             /* (limits.changed) ids of one penalty */
    float *scores;               /* (limits.changed) scores after penalties */
    struct clf__choice *choices; /* (V) if limits.logits is set */
    float *largest;              /* (V) if limits.logits is set */
    float *kept;                 /* (slots, V) if limits.kept is set: the logits of the last step */
};

static inline int clf__is_running(const struct clf__search_source *source)
{
    return source->options != NULL && !source->done;
}

/* Returns 1 if an id is inside the vocabulary. */
static inline int clf__is_id(const struct clf__search_options *options, int id)
{
    return id >= 0 && id < options->vocabulary;
}

/* Returns 1 if a hypothesis, including its start token, ends with the given ids. */
static inline int clf__beam_ends_with(const struct clf__beam *beam, const int32_t *ids, int count)
{
    int held = beam->length + 1;
    return count <= held && memcmp(beam->ids + held - count, ids, (size_t)count * sizeof *ids) == 0;
}

/* Returns the number of tokens in the prompt, excluding the start token. */
static inline int clf__prompt_length(const struct clf__search_options *options)
{
    return options->prefix_is_prompt ? options->prefix_count : 0;
}

/* Returns the number of finished hypotheses that a beam search keeps. */
static inline int clf__finished_limit(const struct clf__search_options *options)
{
    return options->constraints != NULL ? options->constraints->hypotheses : options->beams;
}

/* Returns 1 if the beams form groups. */
static inline int clf__is_diverse(const struct clf__search_options *options)
{
    return options->groups > 1;
}

/* prepare.c */

/* Starts the search of a source with its start token. */
void clf__search_source_start(struct clf__search_source *source);

/* Makes the step ahead the prepared step. */
void clf__search_turn_ahead(struct clf__search *search);

/* options.c */

/* Returns CLF_BAD_ARGUMENT if row, cache row or ban offset counts would overflow int32. */
clf_status clf__search_check_rows(const struct clf__search_limits *limits);
/* Returns CLF_BAD_ARGUMENT if the options of a source exceed the limits of the search. */
clf_status clf__search_check_room(const struct clf__search_limits *limits,
                                  const struct clf__search_options *options);
/* Return the number of candidates kept per source and the number read per row. */
int clf__candidates_kept(int beams, int ends);
int clf__candidates_of_row(int beams, int ends, int vocabulary);
/* Returns 1 if scores are normalised over all ids including banned ones. */
int clf__counts_banned(const struct clf__search_options *options);

/* Returns 1 if a source needs the statistics before bans. */
int clf__reads_all_statistics(const struct clf__search_options *options);
/* Returns 1 if a source needs logits. */
int clf__wants_logits(const struct clf__search_options *options);
/* Returns 1 if a source's steps can be prepared ahead: its next tokens are the best candidates of its rows,
 * and its bans and forced ids depend only on the number of generated tokens. */
int clf__can_be_ahead(const struct clf__search_options *options);

/* processors.c */

/* Returns CLF_BAD_ARGUMENT with a message if the options of score processors are invalid. */
clf_status clf__processors_check(const struct clf__search_options *options);
/* Writes the ids that are banned at every step, ascending and without duplicates; returns the count. */
int clf__bans_prepare(int32_t *always_banned, const struct clf__search_options *options);
/* Writes the ids that must not continue `beam`. */
void clf__bans_write(struct clf__id_list *banned, const struct clf__search_source *source,
                     const struct clf__beam *beam);
/* Returns 1 if the ids that must not continue a hypothesis depend on its ids. */
int clf__bans_read_ids(const struct clf__search_options *options);
/* Returns the forced id after `generated` tokens, or -1. */
int clf__forced_id(const struct clf__search_source *source, int generated);

/* id_list.c */

/* Returns the index of an id, or -1. */
int clf__id_list_find(const struct clf__id_list *list, int32_t id);
/* Returns 0 if the list already contained the id. */
int clf__id_list_insert(struct clf__id_list *list, int32_t id);

/* penalties.c */

/* Returns CLF_BAD_ARGUMENT with a message if the options of penalties are invalid. */
clf_status clf__penalties_check(const struct clf__search_options *options);
/* Returns the maximum number of ids per row whose scores penalties change; 0 if there are no penalties. */
size_t clf__penalties_limit(const struct clf__search_options *options);
/* Returns 0 if the logit of one of a row's changed ids is NaN or +inf. */
int clf__penalties_are_finite(const struct clf__search *search, int row);
/* Lists the ids whose scores penalties change in continuations of `beam`, except banned ids. */
void clf__penalties_list(struct clf__id_list *changed, int32_t *scratch, const struct clf__id_list *banned,
                         const struct clf__search_source *source, const struct clf__beam *beam);
/* Writes the penalised scores of a row's changed ids to search->scores; returns the count. */
int clf__penalties_score(const struct clf__search *search, const struct clf__search_source *source, int row,
                         const struct clf__beam *beam);
/* Returns the decrease of an id's final score if its score before penalties decreases by `loss`. */
double clf__penalties_loss(const struct clf__search *search, const struct clf__search_source *source, int row,
                           const struct clf__beam *beam, int32_t id, float loss);
/* Returns the value subtracted from a row's logits to get scores: 0, or the logarithm of the sum of all
 * exp(logit). */
double clf__penalties_base(const struct clf__search *search, const struct clf__search_source *source,
                           int row);
/* Returns the logit of an id in continuations of `beam` after penalties; `logit` is the one before. */
float clf__penalties_logit(const struct clf__search *search, const struct clf__search_source *source, int row,
                           const struct clf__beam *beam, int32_t id, float logit);
/* Inserts a row's changed ids, which the model treated as banned, into the row's candidates and adds them to
 * the statistics that exclude banned ids. */
void clf__penalties_apply(const struct clf__search *search, const struct clf__search_source *source, int row,
                          const struct clf__beam *beam);

/* constraints.c */

/* Returns CLF_BAD_ARGUMENT with a message if the constraints are invalid. */
clf_status clf__constraints_check(const struct clf__search_options *options);
/* Updates the state of a hypothesis, ids (1 + length), after ids were appended to it. */
void clf__phrases_follow(struct clf__phrase_state *state, const struct clf__constraints *constraints,
                         const int32_t *ids, int length);
/* Returns the phrases that a hypothesis contains if it ends here, as bits. */
uint64_t clf__phrases_met(const struct clf__phrase_state *state, const struct clf__constraints *constraints,
                          const int32_t *ids, int length);
/* Returns the part of the score of a hypothesis of `length` ids that belongs to its phrases, and the number
 * of their ids. */
float clf__phrases_score(int *placed, const struct clf__constraints *constraints,
                         const struct clf__beam *beam, int length);
/* Lists the ids that continue a begun phrase of a hypothesis or, without one, begin another; returns their
 * number, at most 2 * form_count. */
int clf__phrases_next(int32_t *next, const struct clf__phrase_state *state,
                      const struct clf__constraints *constraints, const int32_t *ids, int length);

/* constrained.c */

/* Divides a beam among banks: bank i is for candidates whose phrases have i tokens in the hypothesis. counts
 * (banks): candidates in each; sizes (banks) receives the candidates to keep in each. */
void clf__banks_divide(int *sizes, const int *counts, int banks, int beams);
void clf__constrained_advance(const struct clf__search *search, struct clf__search_source *source);

/* choices.c */

/* Returns CLF_BAD_ARGUMENT with a message if the sampling options are invalid. */
clf_status clf__sampling_check(const struct clf__sampling *sampling);
/* Computes the distribution of a running beam's continuation. Call once per step: logits are converted to
 * scores in place. */
void clf__choices_read(struct clf__choices *choices, const struct clf__search *search,
                       const struct clf__search_source *source, int beam);

/* beam.c */

/* Returns 0 if the list of finished hypotheses is full and no running beam is expected to beat the worst one.
 */
int clf__beam_can_improve(const struct clf__search_source *source);
/* Inserts a running beam, followed by the candidate's token, into the finished hypotheses. */
void clf__beam_finish(struct clf__search_source *source, const struct clf__candidate *candidate);

/* groups.c */

/* Starts all groups from the source's only running beam. */
void clf__groups_begin(struct clf__search_source *source);

/* coverage.c */

/* Returns 1 if a source needs the attention of its rows. */
int clf__wants_attention(const struct clf__search_options *options);
/* Returns the number of source positions over which hypotheses sum attention; 0 if there is no coverage
 * penalty. */
int clf__coverage_places(const struct clf__search_options *options);
/* Returns CLF_BAD_ARGUMENT with a message if the coverage options are invalid. */
clf_status clf__coverage_check(const struct clf__search_options *options);
/* Adds the attention of the source's rows in this step to the sums of its running beams. */
void clf__coverage_add(const struct clf__search *search, const struct clf__search_source *source);
/* Returns the coverage term added to the score of a running beam when it ends. */
float clf__coverage_penalty(const struct clf__search_options *options, const struct clf__beam *beam);

/* sample.c */

/* Returns the random key of a source. */
uint64_t clf__random_key(uint64_t seed, uint64_t identity);
/* Fills search->candidates with samples from the continuations of all beams, in sampling order; returns their
 * number. */
int clf__sample_candidates(const struct clf__search *search, const struct clf__search_source *source);

/* hypothesis.c */

/* Replaces the running beams with the beams prepared for the next step. */
void clf__search_source_turn(struct clf__search_source *source, int next_count);

/* Copies a beam except its parent and its sample number. */
void clf__beam_copy(struct clf__beam *to, const struct clf__beam *from);
/* Copies a beam and appends the candidate's token. */
void clf__beam_extend(struct clf__beam *to, const struct clf__beam *from,
                      const struct clf__candidate *candidate);
/* Returns the divisor of the length rule for a hypothesis of `length` tokens; `length` exceeds the prompt's
 * length. */
float clf__length_divisor(const struct clf__search_options *options, int length);
/* Returns the final score of running beam `from` if it ends with `length` tokens and the given sum of
 * log-probabilities. With constraints, its ids and sums have these tokens. */
float clf__final_score(const struct clf__search_source *source, const struct clf__beam *from, float score,
                       int length);
/* Inserts running beam `from`, followed by the candidate's token, into a list of the `limit` best finished
 * hypotheses. */
void clf__hypothesis_keep(struct clf__beam *list, int *count, int limit,
                          const struct clf__search_source *source, const struct clf__beam *from,
                          const struct clf__candidate *candidate);
/* Orders candidates by higher score, then better beam, then lower id. */
int clf__candidate_comes_before(const struct clf__candidate *a, const struct clf__candidate *b);
/* Inserts a candidate into a list of the `limit` best; returns the new count. */
int clf__candidate_keep(struct clf__candidate *best, int count, int limit,
                        const struct clf__candidate *candidate);
void clf__beams_exchange(struct clf__beam *a, struct clf__beam *b);
/* Moves beam i forward to its position by score; the beams before it are sorted. */
void clf__beams_place(struct clf__beam *beams, int i);
/* Ends a source without candidates: if no hypothesis has finished, the running beams become hypotheses. */
void clf__beams_give_up(struct clf__search_source *source);
/* Returns the candidate that continues running beam `beam` by an id with the given logit. */
struct clf__candidate clf__candidate_of(const struct clf__step *step, const struct clf__search_source *source,
                                        int beam, int32_t id, float logit);
/* Reads the candidate at `rank` of a row of the step that continues running beam `beam`. Returns 0 if there
 * is none. */
int clf__candidate_read(struct clf__candidate *candidate, const struct clf__step *step,
                        const struct clf__search_source *source, int beam, int rank);

/* Advance a source by one token: the best candidates of its rows, or the forced token. */
void clf__greedy_advance(const struct clf__search *search, struct clf__search_source *source); /* greedy.c */
void clf__beam_advance(const struct clf__search *search, struct clf__search_source *source);   /* beam.c */
void clf__groups_advance(const struct clf__search *search, struct clf__search_source *source); /* groups.c */
void clf__sample_advance(const struct clf__search *search, struct clf__search_source *source); /* sample.c */

#endif
