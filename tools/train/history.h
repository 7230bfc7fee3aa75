/* What became of a run, from the lines of its log: every update and every validation. */
#ifndef CLF_TOOLS_TRAIN_HISTORY_H
#define CLF_TOOLS_TRAIN_HISTORY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include <clformer/train.h>

struct train_history {
    const char *name; /* of the run, borrowed: the model's folder or the log's file */
    json_t *start;    /* what the run was begun with; NULL where the log does not say */
    json_t *validations;
    /* By update; of what the log does not say, numbers are NAN and counts 0. */
    struct clf_train_update *points;
    size_t count, capacity;
};

/* Takes an object of the log, which stays the caller's. A run that goes on from a checkpoint tells some
 * updates again: what was told last counts. `place` is for the message ("FILE, line 3"). Returns an exit
 * status. */
int history_add(struct train_history *history, json_t *line, const char *place);
/* Whether the line begins another run than the history's: from its first update, or in another folder. */
int history_ends_before(const struct train_history *history, const json_t *line);
/* Reads a log and adds the runs that it holds to an array, which the caller frees, each of its runs with
 * history_free(), also after a failure. A log may be empty. A last line that was cut off is left out. Runs
 * have the log's name, and where it holds several that of their folder. Returns an exit status. */
int history_read(struct train_history **runs, int *count, const char *path);
/* The point of an update, or NULL. */
const struct clf_train_update *history_find(const struct train_history *history, int64_t update);
void history_free(struct train_history *history);

#endif
