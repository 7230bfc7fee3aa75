/* The progress of a run: the contents of a checkpoint besides weights and moments. */
#ifndef CLF_TRAIN_STATE_H
#define CLF_TRAIN_STATE_H

#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "train/recipe.h"

/* Sixteen hexadecimal digits and NUL. */
enum { CLF__CHECKSUM_TEXT = 17 };

/* The result of one validation; losses are means over labels. */
struct clf__validated {
    int64_t update;
    int epoch;
    double loss, nll;
    double bleu; /* negative: not computed */
    int is_cut;  /* validated in mid-epoch at the end of a run that validates epochs; not averaged */
};

struct clf__train_state {
    int64_t update;  /* completed updates */
    int epoch;       /* the current epoch, from 1 */
    int batch;       /* the next batch of the epoch's plan */
    int64_t pass;    /* completed forward passes in training */
    int64_t skipped; /* updates skipped because gradients were not finite */
    int64_t skipped_in_a_row;
    /* Size and checksums of the data, which detect changed data when a run resumes. */
    int pairs, lines;
    char train_checksum[CLF__CHECKSUM_TEXT]; /* checksum of the files; "": written by an older version
                                              * without checksums */
    char valid_checksum[CLF__CHECKSUM_TEXT];
    struct clf__validated *history; /* (count), by update */
    int count;
};

void clf__train_state_free(struct clf__train_state *state);
clf_status clf__train_state_add(struct clf__train_state *state, const struct clf__validated *validated);

/* Returns the validation at an update, or NULL. */
const struct clf__validated *clf__train_state_find(const struct clf__train_state *state, int64_t update);
/* Returns whether BLEU, rather than loss, decides which of two validations is better. */
int clf__validated_is_by_bleu(const struct clf__validated *a, const struct clf__validated *b,
                              enum clf__best by);
/* Returns whether a is better than b: lower loss, or higher BLEU if both have it. Loss decides between
 * equal BLEU, such as the 0 of a model's first updates. */
int clf__validated_is_better(const struct clf__validated *a, const struct clf__validated *b,
                             enum clf__best by);
/* Returns the best validation of the history, the first one on ties; NULL if the history is empty.
 */
const struct clf__validated *clf__train_state_best(const struct clf__train_state *state, enum clf__best by);

/* Write and read state.json. `files` holds the size and checksum of every other file in the folder; after
 * reading, the caller releases it with json_decref(). */
clf_status clf__train_state_write(const struct clf__train_state *state, json_t *files, const char *path);
clf_status clf__train_state_read(struct clf__train_state *out, json_t **files, const char *path);

#endif
