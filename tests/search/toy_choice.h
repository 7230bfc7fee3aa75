/* The tokens of a step ahead, chosen from the candidates of the previous step as a session chooses them. */
#ifndef CLF_TESTS_SEARCH_TOY_CHOICE_H
#define CLF_TESTS_SEARCH_TOY_CHOICE_H

#include <math.h>
#include <stdlib.h>

#include "search/types.h"

struct toy_candidate {
    float score;
    int32_t row, id;
};

static inline int toy_compare(const void *left, const void *right)
{
    const struct toy_candidate *a = left, *b = right;
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return a->row != b->row ? (a->row < b->row ? -1 : 1) : a->id < b->id ? -1 : 1;
}

static inline int toy_is_end(const struct clf__beam_choice *choice, int32_t id)
{
    int is_end = 0;
    for (int i = 0; i < CLF__CHOICE_ENDS; i++) {
        is_end |= choice->ends[i] == id;
    }
    return is_end;
}

/* Sets the tokens, parents and scores of a choice's rows; row_scores: those of the previous step. */
static inline void toy_choose_beams(int32_t *tokens, int32_t *parents, float *scores,
                                    const struct clf__beam_choice *choice, const struct clf__step *previous,
                                    const float *row_scores)
{
    struct toy_candidate candidates[CLF__CHOICE_CANDIDATES];
    size_t count = 0;
    for (int i = 0; i < choice->from_rows; i++) {
        int row = choice->from_row + i;
        const float *statistics = previous->statistics + 4 * row + choice->statistic;
        for (int rank = 0; rank < choice->ranks; rank++) {
            int place = row * previous->candidates + rank;
            float score = row_scores[row] + ((previous->values[place] - statistics[0]) - statistics[1]);
            int32_t id = previous->ids[place];
            if (id >= 0 && score > -INFINITY && !toy_is_end(choice, id)) {
                candidates[count++] = (struct toy_candidate){score, row, id};
            }
        }
    }
    qsort(candidates, count, sizeof *candidates, toy_compare);
    for (int i = 0; i < choice->beams; i++) {
        int is_found = (size_t)i < count;
        tokens[choice->row + i] = is_found ? candidates[i].id : -1;
        parents[choice->row + i] = choice->cache_row + (is_found ? candidates[i].row - choice->from_row : 0);
        scores[choice->row + i] = is_found ? candidates[i].score : -INFINITY;
    }
}

#endif
