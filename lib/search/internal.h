/* What the files of this room share: hypotheses in the making, and the state of a search. */
#ifndef CLF_SEARCH_INTERNAL_H
#define CLF_SEARCH_INTERNAL_H

#include <stddef.h>
#include <string.h>

#include "search/search.h"

/* Ascending, none twice. */
struct clf__id_list {
    int32_t *ids;
    int count;
};

/* A hypothesis in the making. */
struct clf__beam {
    int32_t *ids; /* (1 + max_length): the start token, then what was generated */
    int length;   /* generated tokens */
    int parent;   /* its place among the source's beams one step ago */
    int sample;   /* its number */
    int end;      /* CLF__STOP_ALL: tokens up to its first end token, that one counted; 0: it has none yet */
    float score;  /* running: the summed log-probability; finished: what the length rule makes of that */
    double log_probability; /* not of what follows its end */
    float *coverage;        /* (places) how much its steps looked at each place of the source */
    int places;             /* 0: nobody asks */
};

/* One of the ways a source may continue. */
struct clf__candidate {
    int beam; /* the running beam that it continues */
    int32_t id;
    float score;
    double log_probability;
    double key; /* drawn: by which they are in order */
    int rank;   /* among all candidates, the best or the first drawn being 0 */
};

/* What a row may be continued with by chance. */
struct clf__choice {
    float score;
    int32_t id;
    double probability, key;
};
struct clf__choices {
    struct clf__choice *items; /* the search's, until the next row is read */
    int count;
    double log_sum; /* log sum exp(score) */
    double dropped; /* the probability of those that a filter takes away unseen */
};

/* One of a source's groups of beams. */
struct clf__group {
    int first, running_count; /* of the source's running beams */
    int finished_count; /* of its own part of the finished ones, which is as long as the group is wide */
    int is_done;
};

/* A sequence slot, and the source under search there. */
struct clf__search_source {
    const struct clf__search_options *options; /* NULL: the slot is free */
    int tag;
    struct clf__beam *running;  /* (beams) best first */
    struct clf__beam *next;     /* (beams) the running ones of the next step, while they are made */
    struct clf__beam *finished; /* (beams) best first */
    int running_count, finished_count;
    int32_t *always_banned; /* (limits.banned) ascending */
    int always_banned_count;
    const int32_t *given; /* (given_count) the source's ids, where they were given */
    int given_count;
    uint64_t random_key;
    int has_parted;            /* samples, or groups, run apart */
    struct clf__group *groups; /* (beams) */
    int32_t *taken;            /* (beams) what groups have taken at this step */
    int taken_count;
    int max_length; /* the options', or less for a short source */
    int forced;     /* the only id allowed at this step, or -1 */
    int first_row;  /* of the step; unused where the token is forced */
    int done;
    int is_not_finite; /* a logit that counts was NaN or +inf */
};

struct clf__search {
    struct clf__search_limits limits;
    struct clf__search_source *sources; /* (slots) */
    struct clf__candidate *candidates;  /* (clf__candidates_kept()) of one source, at one step */
    struct clf__hypothesis *outcome;    /* (beams) of the source that was taken last */
    struct clf__step step;
    /* The arrays of `step` that search fills. */
    int32_t *tokens, *positions, *cache_rows, *parents, *slots, *banned, *banned_offsets;
    /* Of each row the ids that penalties change: those among its banned ones that are not banned. */
    int32_t *changed; /* (rows, limits.changed) */
    int *changed_counts;
    int32_t *listed;             /* (limits.changed) those of one penalty */
    float *scores;               /* (limits.changed) what they become */
    struct clf__choice *choices; /* (V) with limits.logits */
    float *largest;              /* (V) with limits.logits */
};

/* Whether an id is inside the vocabulary. */
static inline int clf__is_id(const struct clf__search_options *options, int id)
{
    return id >= 0 && id < options->vocabulary;
}

/* Whether some ids are the latest of a hypothesis, whose start token counts. */
static inline int clf__beam_ends_with(const struct clf__beam *beam, const int32_t *ids, int count)
{
    int held = beam->length + 1;
    return count <= held && memcmp(beam->ids + held - count, ids, (size_t)count * sizeof *ids) == 0;
}

/* Tokens that come before anything is generated, but for the start token. */
static inline int clf__prompt_length(const struct clf__search_options *options)
{
    return options->prefix_is_prompt ? options->prefix_count : 0;
}

/* Whether a source's beams are in groups. */
static inline int clf__is_diverse(const struct clf__search_options *options)
{
    return options->groups > 1;
}

/* options.c */

/* CLF_BAD_ARGUMENT where rows, cache rows or offsets of bans would outgrow int32. */
clf_status clf__search_check_rows(const struct clf__search_limits *limits);
/* CLF_BAD_ARGUMENT where a search has no room for a source. */
clf_status clf__search_check_room(const struct clf__search_limits *limits,
                                  const struct clf__search_options *options);
/* Of all continuations of a source's beams so many are looked at, and so many of a row. */
int clf__candidates_kept(int beams, int ends);
int clf__candidates_of_row(int beams, int ends, int vocabulary);
/* Whether a source's scores count the banned ids too. */
int clf__counts_banned(const struct clf__search_options *options);

/* Whether a source reads the statistics before the bans. */
int clf__reads_all_statistics(const struct clf__search_options *options);
/* Whether a source reads logits. */
int clf__wants_logits(const struct clf__search_options *options);

/* processors.c */

/* CLF_BAD_ARGUMENT with a sentence unless what the processors of scores read makes sense. */
clf_status clf__processors_check(const struct clf__search_options *options);
/* Writes the ids that are banned at every step, ascending, none twice; returns how many. */
int clf__bans_prepare(int32_t *always_banned, const struct clf__search_options *options);
/* Writes the ids that `beam` must not continue with. */
void clf__bans_write(struct clf__id_list *banned, const struct clf__search_source *source,
                     const struct clf__beam *beam);
/* The only id allowed as the token after `generated` others, or -1. */
int clf__forced_id(const struct clf__search_source *source, int generated);

/* id_list.c */

/* The place of an id, or -1. */
int clf__id_list_find(const struct clf__id_list *list, int32_t id);
/* 0 where it was there before. */
int clf__id_list_insert(struct clf__id_list *list, int32_t id);

/* penalties.c */

/* CLF_BAD_ARGUMENT with a sentence unless what penalties read makes sense. */
clf_status clf__penalties_check(const struct clf__search_options *options);
/* How many ids of a row penalties change at most; 0 where there are none. */
size_t clf__penalties_limit(const struct clf__search_options *options);
/* Returns 0 if a logit of a row's changed ids is NaN or +inf. */
int clf__penalties_are_finite(const struct clf__search *search, int row);
/* Lists the ids whose scores penalties change as continuations of `beam`, but for those banned. */
void clf__penalties_list(struct clf__id_list *changed, int32_t *scratch, const struct clf__id_list *banned,
                         const struct clf__search_source *source, const struct clf__beam *beam);
/* Writes what penalties make of the scores of a row's changed ids to search->scores; returns how many. */
int clf__penalties_score(const struct clf__search *search, const struct clf__search_source *source, int row,
                         const struct clf__beam *beam);
/* What the score of an id of a row becomes less by where it is less by `loss` before penalties. */
double clf__penalties_loss(const struct clf__search *search, const struct clf__search_source *source, int row,
                           const struct clf__beam *beam, int32_t id, float loss);
/* What makes scores of a row's logits: nothing, or the logarithm of the sum of all exp(logit). */
double clf__penalties_base(const struct clf__search *search, const struct clf__search_source *source,
                           int row);
/* Puts the changed ids of a row that the model filled, which it took for banned, among its candidates, and
 * counts them in the statistics of what is left. */
void clf__penalties_apply(const struct clf__search *search, const struct clf__search_source *source, int row,
                          const struct clf__beam *beam);

/* choices.c */

/* CLF_BAD_ARGUMENT with a sentence unless it makes sense. */
clf_status clf__sampling_check(const struct clf__sampling *sampling);
/* What a running beam may be continued with; once a step, since logits become scores. */
void clf__choices_read(struct clf__choices *choices, const struct clf__search *search,
                       const struct clf__search_source *source, int beam);

/* groups.c */

/* All groups begin with the source's one running beam. */
void clf__groups_begin(struct clf__search_source *source);

/* coverage.c */

/* Whether a source reads where its rows look. */
int clf__wants_attention(const struct clf__search_options *options);
/* Places of a source that its hypotheses keep a sum of; 0 where nobody asks. */
int clf__coverage_places(const struct clf__search_options *options);
/* CLF_BAD_ARGUMENT with a sentence unless the coverage penalty makes sense. */
clf_status clf__coverage_check(const struct clf__search_options *options);
/* Adds where the source's rows of the step looked to what its running beams keep. */
void clf__coverage_add(const struct clf__search *search, const struct clf__search_source *source);
/* What it adds to the score of what a running beam becomes when it ends. */
float clf__coverage_penalty(const struct clf__search_options *options, const struct clf__beam *beam);

/* sample.c */

/* The key of a source's draws. */
uint64_t clf__random_key(uint64_t seed, uint64_t identity);
/* Fills search->candidates with what is drawn among the continuations of all beams, in that order; returns
 * how many there are. */
int clf__sample_candidates(const struct clf__search *search, const struct clf__search_source *source);

/* hypothesis.c */

/* What was made for the next step is what runs now. */
void clf__search_source_turn(struct clf__search_source *source, int next_count);

/* Makes `to` what `from` is, but for its parent and its number. */
void clf__beam_copy(struct clf__beam *to, const struct clf__beam *from);
/* Makes `to` what `from` becomes with the candidate's token after it. */
void clf__beam_extend(struct clf__beam *to, const struct clf__beam *from,
                      const struct clf__candidate *candidate);
/* What the summed log-probability of a hypothesis of `length` tokens, one at least behind the prompt, is
 * divided by. */
float clf__length_divisor(const struct clf__search_options *options, int length);
/* What a summed log-probability becomes where running beam `from` ends as a hypothesis of `length` tokens. */
float clf__final_score(const struct clf__search_options *options, const struct clf__beam *from, float score,
                       int length);
/* Keeps a finished hypothesis among the best of a list, `limit` of them: running beam `from` with the
 * candidate's token after it. */
void clf__hypothesis_keep(struct clf__beam *list, int *count, int limit,
                          const struct clf__search_options *options, const struct clf__beam *from,
                          const struct clf__candidate *candidate);
/* Higher scores first, then better beams, then lower ids. */
int clf__candidate_comes_before(const struct clf__candidate *a, const struct clf__candidate *b);
/* Keeps a candidate among the best, `limit` of them; returns how many they are then. */
int clf__candidate_keep(struct clf__candidate *best, int count, int limit,
                        const struct clf__candidate *candidate);
void clf__beams_exchange(struct clf__beam *a, struct clf__beam *b);
/* Moves beam i forward to where its score belongs; those before it are in order. */
void clf__beams_place(struct clf__beam *beams, int i);
/* The model offers nothing, so the running beams end as they stand, unless others finished before. */
void clf__beams_give_up(struct clf__search_source *source);
/* The candidate at `rank` of a row of the step, which continues running beam `beam`. 0 where there is none.
 */
int clf__candidate_read(struct clf__candidate *candidate, const struct clf__step *step,
                        const struct clf__search_source *source, int beam, int rank);

/* Takes a source one token further, from the candidates of its rows or the forced token. */
void clf__greedy_advance(const struct clf__search *search, struct clf__search_source *source); /* greedy.c */
void clf__beam_advance(const struct clf__search *search, struct clf__search_source *source);   /* beam.c */
void clf__groups_advance(const struct clf__search *search, struct clf__search_source *source); /* groups.c */
void clf__sample_advance(const struct clf__search *search, struct clf__search_source *source); /* sample.c */

#endif
