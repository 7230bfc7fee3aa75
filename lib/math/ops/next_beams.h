/* Chooses the tokens of a step's beams from the candidates of the previous step, without the host. */
#ifndef CLF_OPS_NEXT_BEAMS_H
#define CLF_OPS_NEXT_BEAMS_H

#include "math/tensor/tensor.h"

/* The rows of a step that are chosen. */
struct clf__next_beams {
    struct clf__tensor tokens, positions, parents; /* (1, R) i32 */
    struct clf__tensor scores;                     /* (1, R) */
};
/* The results of the previous step. */
struct clf__previous_beams {
    struct clf__tensor values;     /* (R', k) */
    struct clf__tensor ids;        /* (R', k) i32 */
    struct clf__tensor statistics; /* (R', 4) */
    struct clf__tensor
        scores; /* (1, R') sums of log-probabilities that this op computed in the previous step */
    struct clf__tensor
        known; /* (1, R') sums that the host knows; both are read only as far as choices need them */
};

/* For each row of `choices`, a struct clf__beam_choice (search/types.h), sets the tokens, parents and scores
 * of its `beams` rows to those of the best candidates. If a token is `pad`, the row's position becomes
 * pad_position; a pad below -1 is never a token. Rows that belong to no choice do not change. Choices that
 * exceed the tensors or CLF__CHOICE_CANDIDATES are skipped. */
clf_status clf__next_beams(const struct clf__next_beams *next, const struct clf__previous_beams *previous,
                           struct clf__tensor choices, /* (n, CLF__CHOICE_WORDS) i32 */
                           int pad, int pad_position);

#endif
