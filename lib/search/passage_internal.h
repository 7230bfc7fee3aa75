/* The inside of a passage: what its files share. */
#ifndef CLF_SEARCH_PASSAGE_INTERNAL_H
#define CLF_SEARCH_PASSAGE_INTERNAL_H

#include "search/passage.h"

/* A hypothesis: the ids that were generated, and the sum of their log-probabilities. */
struct clf__path {
    int32_t *ids; /* (positions + 1) */
    int count;
    double sum;
    int parent; /* the row that it goes on from, among the window's */
    int sample; /* its number; 0 of beams */
};

/* How a row may go on. */
struct clf__way {
    int row;
    int32_t id;
    double sum;
};

/* The search of one window. */
struct clf__passage_search {
    const struct clf__passage_rules *rules; /* NULL: none is there */
    const int32_t *prompt;
    int prompt_count;
    int fed;                                     /* tokens that the model has had of each row */
    int at;                                      /* the position of the step's own token */
    int first_row, first_draw;                   /* of the step */
    struct clf__path *running, *next, *finished; /* (rows), (rows), (limits.finished) */
    int running_count, finished_count, wanted;
    int is_over;
    int is_not_finite;
    double no_speech;
};

struct clf__passage {
    struct clf__passage_limits limits;
    int rows;                             /* of a window */
    struct clf__passage_search *searches; /* (slots) */
    struct clf__path *paths;              /* of all searches */
    int32_t *path_ids;
    struct clf__way *ways;   /* (rows, k) */
    int32_t *best;           /* (k) of a row */
    double *best_sums;       /* (k) likewise */
    struct clf__draw *draws; /* (slots * samples) */
    struct clf__step step;
    /* What the step points to: (slots * rows) each, ranges (slots * rows, M, 2), given (slots * positions).
     */
    int32_t *tokens, *positions, *cache_rows, *parents, *slots, *banned, *banned_offsets, *ranges, *given,
        *given_offsets;
};

/* passage_ways.c: takes every hypothesis of a search one token further, by what the model gave. */
void clf__passage_go_on(struct clf__passage *passage, struct clf__passage_search *search);

#endif
