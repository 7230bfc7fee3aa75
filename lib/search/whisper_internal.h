/* Internal structures of Whisper decoding. */
#ifndef CLF_SEARCH_WHISPER_INTERNAL_H
#define CLF_SEARCH_WHISPER_INTERNAL_H

#include "search/whisper.h"

/* A hypothesis: the generated ids and the sum of their log-probabilities. */
struct clf__whisper_hypothesis {
    int32_t *ids; /* (positions + 1) */
    int count;
    double sum;
    int parent; /* the row that it continues, relative to the window's first row */
    int sample; /* sample number; 0 for beams */
};

/* A candidate: a possible continuation of a row. */
struct clf__whisper_candidate {
    int row;
    int32_t id;
    double sum;
};

/* The search of one window. */
struct clf__whisper_window {
    const struct clf__whisper_rules *rules; /* NULL: no search */
    const int32_t *prompt;
    int prompt_count;
    int fed;                   /* number of tokens that the model has processed for each row */
    int at;                    /* position of the step's token */
    int first_row, first_draw; /* first row and first draw of the window in the step */
    struct clf__whisper_hypothesis *running, *next, *finished; /* (rows), (rows), (limits.finished) */
    int running_count, finished_count, wanted;
    int best_has_ended; /* the best candidate of a step was an end token */
    int is_over;
    int is_not_finite;
    double no_speech;
};

struct clf__whisper {
    struct clf__whisper_limits limits;
    int rows;                                   /* rows per window */
    struct clf__whisper_window *searches;       /* (slots) */
    struct clf__whisper_hypothesis *hypotheses; /* array that holds the hypotheses of all searches */
    int32_t *hypothesis_ids;
    struct clf__whisper_candidate *candidates; /* (rows, k) */
    struct clf__whisper_text *texts;           /* (rows + finished) of the last result */
    int32_t *listed;                           /* (positions + 1) */
    float *sorted;                             /* (V) with limits.logits */
    uint8_t *keeps_logits;                     /* (slots * rows) with limits.logits */
    int32_t *best;                             /* (k) best ids of a row */
    double *best_sums;                         /* (k) log-probabilities of `best` */
    struct clf__draw *draws;                   /* (slots * samples) */
    struct clf__step step;
    /* Arrays of the step: (slots * rows) each, ranges (slots * rows, M, 2), prefill (slots * positions). */
    int32_t *tokens, *positions, *cache_rows, *parents, *slots, *banned, *banned_offsets, *ranges, *prefill,
        *prefill_offsets;
};

/* Returns the number of ids that a hypothesis has after the prefix. */
static inline int clf__whisper_generated(const struct clf__whisper_window *search,
                                         const struct clf__whisper_hypothesis *hypothesis)
{
    return hypothesis->count - search->rules->prefix_count;
}

/* Returns 1 if the hypotheses of a search may not grow further. */
static inline int clf__whisper_is_full(const struct clf__whisper *whisper,
                                       const struct clf__whisper_window *search, int length)
{
    return length >= search->rules->most_tokens || search->fed >= whisper->limits.positions;
}

/* whisper_logits.c: whether candidates are computed from logits, and their computation for the rows of a
 * search. */
int clf__whisper_reads_logits(const struct clf__whisper_rules *rules);
void clf__whisper_rescore(struct clf__whisper *whisper, const struct clf__whisper_window *search);
/* Copies the logits of a search with forced tokens to rules->logits. */
void clf__whisper_keep_logits(const struct clf__whisper *whisper, const struct clf__whisper_window *search);

/* whisper_extend.c: advances every hypothesis of a search by one token according to the model's outputs. */
void clf__whisper_extend(struct clf__whisper *whisper, struct clf__whisper_window *search);

#endif
