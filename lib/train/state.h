/* Where a run stands: all that a checkpoint says beside weights and moments. */
#ifndef CLF_TRAIN_STATE_H
#define CLF_TRAIN_STATE_H

#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "train/recipe.h"

/* Sixteen hexadecimal digits. */
enum { CLF__CHECKSUM_TEXT = 17 };

/* The result of one validation, a counted label. */
struct clf__validated {
    int64_t update;
    int epoch;
    double loss, nll;
    double bleu; /* negative: not computed */
    int is_cut;  /* in mid-epoch, because the run ended there, where epochs are validated: not averaged */
};

struct clf__train_state {
    int64_t update;  /* done */
    int epoch;       /* from 1, the one that goes on */
    int batch;       /* of the epoch's plan, the next */
    int64_t pass;    /* forward passes in training, done */
    int64_t skipped; /* of the updates: gradients were not finite */
    int64_t skipped_in_a_row;
    /* What data it was, so that other data is noticed. */
    int pairs, lines;
    char train_checksum[CLF__CHECKSUM_TEXT]; /* of the files; "": a run of an older version did not say it */
    char valid_checksum[CLF__CHECKSUM_TEXT];
    struct clf__validated *history; /* (count), by update */
    int count;
};

void clf__train_state_free(struct clf__train_state *state);
clf_status clf__train_state_add(struct clf__train_state *state, const struct clf__validated *validated);

/* The validation at this update, or NULL. */
const struct clf__validated *clf__train_state_find(const struct clf__train_state *state, int64_t update);
/* Whether BLEU decides which of two is better, or loss. */
int clf__validated_is_by_bleu(const struct clf__validated *a, const struct clf__validated *b,
                              enum clf__best by);
/* Whether a is better than b: of less loss, or of more BLEU where both have it. Equal BLEU says nothing, as
 * the 0 that a model has for its first updates: loss decides. */
int clf__validated_is_better(const struct clf__validated *a, const struct clf__validated *b,
                             enum clf__best by);
/* The best of the history, the first of equals; NULL for none. */
const struct clf__validated *clf__train_state_best(const struct clf__train_state *state, enum clf__best by);

/* state.json; `files` is kept in it, an object that says what the files beside it must be. Reading gives it
 * back to the caller, who ends with json_decref(). */
clf_status clf__train_state_write(const struct clf__train_state *state, json_t *files, const char *path);
clf_status clf__train_state_read(struct clf__train_state *out, json_t **files, const char *path);

#endif
