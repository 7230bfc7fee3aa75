/* Greedy and beam search, as Hugging Face's `generate` defines them, over sources that come and go.
 *
 *     clf__search_create(&search, &limits)
 *     as long as there is work:
 *         clf__search_add(search, slot, &options, tag)    each source that may come in now
 *         step = clf__search_prepare(search)              what the model is asked
 *         the model fills the step, unless it has no rows
 *         clf__search_advance(search)                     every source is one token further
 *         while clf__search_take(search, &result)         what is finished; its slot is free
 *     clf__search_free(search)
 */
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
    /* As Marian's beam search: of all candidates the best are taken, as many as there are beams less those
     * that have ended; those among them that end are set aside, and the search is over when none runs on. */
    CLF__STOP_NARROW,
};

/* A step is asked for so many candidates a row at most: 1 + the number of end ids for each beam. */
#define CLF__SEARCH_CANDIDATES_LIMIT 256
#define CLF__SEARCH_BEAMS_LIMIT      (CLF__SEARCH_CANDIDATES_LIMIT / 2)

/* Continuations are drawn by their probabilities in place of the best ones, as transformers does: after bans
 * and penalties, scores are divided by the temperature, and the filters take ids away in this order, each by
 * the probabilities of what the one before it left. */
struct clf__sampling {
    int is_on;
    float temperature; /* above 0 */
    int top_k;         /* all but the best k, and what equals the last of them; 0: none */
    float top_p;       /* the least probable, as long as their sum is at most 1 - p; 1: none */
    float min_p;       /* those less probable than p times the most probable one; 0: none */
    float typical_p;   /* all but those whose log-probability is nearest to the mean, of the sum p; 1: none */
    float epsilon_cutoff; /* those less probable than epsilon; 0 or 1: none */
    float eta_cutoff;     /* than the lesser of eta and sqrt(eta) exp(-entropy); 0 or 1: none */
    uint64_t seed;
};

/* Lengths count generated tokens, the end token included, the start token not. In transformers' terms:
 * max_length here = max_new_tokens = its max_length - 1; min_length here = min_new_tokens + 1 (which does not
 * count the end token) = its min_length (which counts the start token but not the end token). */
struct clf__search_options {
    int beams;  /* 1 = greedy; at most CLF__SEARCH_BEAMS_LIMIT */
    int n_best; /* hypotheses returned a source, <= beams; samples of one beam: CLF__SEARCH_BEAMS_LIMIT at
                   most */
    int vocabulary;
    int start_id, end_id; /* start -1: the decoder starts with zeros in place of a token's embedding */
    const int32_t *other_end_ids; /* that end a hypothesis too */
    int other_end_count;
    int min_length, max_length; /* 0 <= min <= max, max >= 1 */
    double max_length_factor;   /* of the source's ids, rounded up: a source's own maximum length, where it
                                 * is less than max_length; 0: there is none */
    int steps; /* tokens behind the prefix at most, whatever the rest says; 0: no such limit */
    enum clf__length_rule length_rule;
    double length_penalty;
    int divides_greedy; /* a greedy hypothesis' score goes by the length rule, too */
    /* Above 1: the beams are in so many groups of one size, each of which is a search of its own. To each a
     * token is worth less by the penalty, above 0, for every beam of the groups before it that has taken it
     * at this step (Vijayakumar et al. 2016). Its hypotheses are those of all groups. 0 or 1: one group. */
    int groups;
    float diversity_penalty;
    /* Every finished hypothesis' score, after the length rule, gets this times the sum over the source's
     * places of log(min(c, 1)), c being how much its steps, the end's too, looked at the place; those of c 0
     * are left out (Wu et al. 2016, 7, as CTranslate2 has it). 0: none. */
    double coverage_penalty;
    int coverage_start; /* generated tokens before the first step that counts */
    int memory_limit;   /* places of a source at most, where attention is wanted */
    enum clf__early_stopping early_stopping;
    int renormalize;           /* log-softmax again after the banned ids are gone */
    const int32_t *prefix;     /* ids of the first generated tokens */
    int prefix_count;          /* <= max_length */
    int prefix_is_prompt;      /* 1: it is given, not generated: lengths of scores leave it out, though the
                                  minimum and the maximum count it, and something follows it */
    int counts_prompt;         /* 1: lengths of scores count it all the same, as in CTranslate2 */
    int forced_last;           /* id forced at max_length, or -1; stronger than the prefix */
    const int32_t *suppressed; /* ids never generated */
    int suppressed_count;
    const int32_t *begin_suppressed; /* ids that do not come first, behind the prefix */
    int begin_suppressed_count;
    int no_repeat_ngram;        /* no n ids in a row come twice, the start token counted; 0: they may */
    int source_no_repeat_ngram; /* no n ids in a row of the source come; 0: they may */
    int source_limit;           /* ids of a source at most, where anything looks at them */
    /* As transformers has them: s * p for a score s below 0, s / p for others. s is a logit of greedy search,
     * and a log-probability of beams. 1: none. */
    float repetition_penalty;        /* p of the ids so far, the start token among them */
    float source_repetition_penalty; /* 1 / p of the source's ids */
    /* From the token on that comes after decay_start generated ones, the prompt not counted, the score s of
     * an end id becomes s + |s| (f^n - 1), n the tokens since then. f 1: none. */
    int decay_start;
    float decay_factor;
    struct clf__sampling sampling;
    int bad_word_count; /* of the two lists that follow */
    /* Sequences never generated: concatenated ids; sequence i is [offsets[i], offsets[i + 1]). Of length 1:
     * always banned, unless it is the end id alone, which is ignored; longer: the last id is banned where the
     * ids before it, the start token among them, are the latest. Forced tokens are stronger than these. */
    const int32_t *bad_words;
    const int32_t *bad_word_offsets;
    /* Sequences as above, whose last id's score, logit or log-probability, gets a bias where the ids before
     * it are the latest; before the repetition penalties. Several of one id add up. */
    int biased_count;
    const int32_t *biased;
    const int32_t *biased_offsets;
    const float *biases; /* (biased_count) finite */
};

/* Whether an id ends a hypothesis. */
static inline int clf__is_end(const struct clf__search_options *options, int32_t id)
{
    int is_end = id == options->end_id;
    for (int i = 0; i < options->other_end_count; i++) {
        is_end |= id == options->other_end_ids[i];
    }
    return is_end;
}

/* A draw of the token that follows a row of a step. Sample, count and key decide its random numbers: draws
 * that differ in one of these have none in common. */
struct clf__draw {
    int32_t row;
    int32_t sample, count; /* the token behind `count` generated ones of a sample */
    uint32_t key_low, key_high;
    float temperature; /* above 0 */
};

/* What search asks of the model at one step: for each row feed `tokens` at `positions`, and give the best
 * candidates. Ids whose scores search changes by itself are among the banned ones, and it asks for logits.
 *
 * A cache row holds one hypothesis in the cache; a sequence slot has `beams` of them, as many as the limits
 * say: slot p owns cache rows p * beams .. p * beams + beams - 1. Row r continues the history that cache row
 * parents[r] had after the step before (at position 0 there is none; parents[r] is cache_rows[r]) and is
 * itself kept at cache_rows[r]. Rows of one slot are adjacent, its cache rows ascending; several rows may
 * share a parent. The rows of a slot have one position; slots have their own, as their sources came at
 * different times. At position 0 a source has one row, later at most as many as its beams: fewer only where
 * there were too few candidates. Equal rows are asked of a source whatever the others are. */
struct clf__step {
    int rows;
    const int32_t *tokens;         /* (rows) */
    const int32_t *positions;      /* (rows) 0 for the start token */
    const int32_t *cache_rows;     /* (rows) */
    const int32_t *parents;        /* (rows) */
    const int32_t *slots;          /* (rows) */
    const int32_t *banned;         /* concatenated ids; ascending in each row, none twice */
    const int32_t *banned_offsets; /* (rows + 1) */
    /* Tokens that are given before a row's own, at the positions before it, and of which nothing is wanted:
     * row r's are given[given_offsets[r]] .. given[given_offsets[r + 1] - 1]; they continue the history of
     * its own cache row. given_offsets NULL: none. */
    const int32_t *given;
    const int32_t *given_offsets; /* (rows + 1) */
    int candidates;               /* k wanted a row: the most that a source under search wants */
    int both_statistics;          /* the statistics before the bans are wanted too, by one of them */
    int wants_logits;             /* the logits are wanted too, by one of them */
    int wants_attention;          /* so is where rows look */
    /* Ranges of each row's ids, where kinds of tokens are told apart by them: the k best and the statistics
     * of each are wanted too. The first `ranges_before` of a row are looked at before its bans. */
    int ranges_each;       /* of a row; 0: none */
    int ranges_before;     /* <= ranges_each */
    const int32_t *ranges; /* (rows, ranges_each, 2): the first id, and the one behind the last; as large or
                              larger: an empty range */
    /* With ranges: of each draw an id is drawn in every range of its row, without its bans, by softmax(logits
     * / temperature). Of several ranges that with the largest value is drawn from all of them. */
    int draw_count;
    const struct clf__draw *draws; /* (draw_count), their rows ascending */
    /* Filled by the model. */
    float *values;     /* (rows, k) logits, largest first, equal ones by ascending id */
    int32_t *ids;      /* (rows, k); -1 where fewer than k were left */
    float *statistics; /* (rows, 4): max, log sum exp(x - max); the same two without the banned ids; without
                          both_statistics the first two are not read. A log sum is NaN where a logit is NaN or
                          +inf */
    float *logits;     /* (rows, V) with wants_logits: before the bans */
    float *attention;  /* (rows, attention_columns) with wants_attention: how much a row looks at each place
                          of its source, 0 behind the last one */
    int attention_columns;   /* at most as many places as the search has room for */
    float *range_values;     /* (rows, ranges_each, k) as values, of each range */
    int32_t *range_ids;      /* (rows, ranges_each, k) */
    float *range_statistics; /* (rows, ranges_each, 2): max, log sum exp(x - max); -inf twice where nothing is
                                left */
    float *draw_values;      /* (draw_count, ranges_each) */
    int32_t *draw_ids;       /* (draw_count, ranges_each); -1 where nothing is left */
    float *draw_logits;      /* (draw_count, ranges_each) of the ids */
};

/* One finished hypothesis. */
struct clf__hypothesis {
    const int32_t *ids; /* generated tokens, the end token included where it was generated */
    int length;
    float score;            /* what the search ranks by; greedy and samples: the log-probability */
    double log_probability; /* natural, summed, banned ids gone and the rest renormalised; a forced token adds
                               0 */
};

/* What a search has room for. */
struct clf__search_limits {
    int slots;      /* sources under search at a time */
    int beams;      /* hypotheses of a source that run */
    int ends;       /* ids that end its hypotheses */
    int max_length; /* of a source */
    int vocabulary; /* of every source */
    int banned;     /* ids that a row bans, as clf__bans_limit() counts them */
    int changed;    /* ids of a row whose scores penalties change */
    int logits;     /* 1: logits may be wanted */
    int places;     /* of a source that attention may be wanted of; 0: it is not */
};
/* Those of a search in which every source has these options. */
struct clf__search_limits clf__search_limits_for(const struct clf__search_options *options, int slots);

/* A source that is done. */
struct clf__search_result {
    int tag, slot; /* those it was added with */
    /* Best first, samples in the order of their numbers; n_best of them or fewer, where the search found no
     * more; the search's, until it is called again. Where the model ran out of candidates before anything was
     * finished, what there was until then; none where that was before the first token. */
    const struct clf__hypothesis *hypotheses;
    int count;
    int is_not_finite; /* the search ended at a logit that is NaN or +inf; count is 0 */
};

/* options.c: hypotheses of a source that run at a time: its beams or samples. */
int clf__search_rows(const struct clf__search_options *options);

/* options.c: candidates of a row that a source looks at. */
int clf__candidates_wanted(const struct clf__search_options *options);

/* options.c: CLF_BAD_ARGUMENT with a sentence unless the options make sense together. */
clf_status clf__search_check(const struct clf__search_options *options);

/* processors.c: how many ids a row bans at most, those whose scores change among them. */
size_t clf__bans_limit(const struct clf__search_options *options);

struct clf__search;

/* Everything is allocated here; the other calls allocate nothing. */
clf_status clf__search_create(struct clf__search **out, const struct clf__search_limits *limits);
void clf__search_free(struct clf__search *search);

/* Whether no source is at a slot. */
int clf__search_is_free(const struct clf__search *search, int slot);

/* Puts a source at a free slot, between two steps. Its options, and the lists that they point to, stay the
 * caller's and as they are until its result is taken. CLF_BAD_ARGUMENT where they make no sense or the search
 * has no room for them. */
clf_status clf__search_add(struct clf__search *search, int slot, const struct clf__search_options *options,
                           int tag);

/* The ids of the source at a slot, framed, for what looks at them: they stay the caller's until its result is
 * taken. */
void clf__search_give_source(struct clf__search *search, int slot, const int32_t *ids, int count);

/* What tells the source at a slot from others, for sampling: sources of one identity, seed and options have
 * the same samples, whatever is searched beside them. 0 where it is not said. */
void clf__search_give_identity(struct clf__search *search, int slot, uint64_t identity);

/* The step that the sources under search need next. Without rows it needs no model, as where every next token
 * is forced and nothing follows it. */
struct clf__step *clf__search_prepare(struct clf__search *search);

/* Takes every source one token further, by what the model gave for the step that was prepared. Every source
 * is independent of the others: of which they are, and of when it was added. Equal scores go to the better
 * beam, then to the lower id. */
void clf__search_advance(struct clf__search *search);

/* The tokens so far of the best hypothesis of a source that goes on, or of its first sample: *count of them,
 * the search's until it is called again. NULL where there is no source, or it is done. */
const int32_t *clf__search_look(const struct clf__search *search, int slot, int *tag, int *count);

/* Gives the result of the first slot whose source is done and frees that slot; 0 where there is none. */
int clf__search_take(struct clf__search *search, struct clf__search_result *out);

#endif
