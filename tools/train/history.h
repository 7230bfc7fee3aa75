/* The updates and validations of a run, from the lines of its log. */
#ifndef CLF_TOOLS_TRAIN_HISTORY_H
#define CLF_TOOLS_TRAIN_HISTORY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include <clformer/train.h>

struct train_history {
    const char *name; /* the model's folder or the log's file, borrowed */
    json_t *start;    /* start object of the run; NULL if it is not in the log */
    json_t *validations;
    /* Sorted by update; values missing in the log are NAN, and missing counts are 0. */
    struct clf_train_update *points;
    size_t count, capacity;
};

/* Adds an object of the log; the caller keeps ownership. A resumed run repeats some updates; the last
 * occurrence counts. `place` is used in messages ("FILE, line 3"). Returns an exit status. */
int history_add(struct train_history *history, json_t *line, const char *place);
/* Returns 1 if the line begins another run: it is the first update of a run, or has another folder. */
int history_ends_before(const struct train_history *history, const json_t *line);
/* Reads a log and appends its runs to an array; the caller frees each run with history_free() and then the
 * array, also after a failure. A log may be empty; a truncated last line is ignored. Runs are named after the
 * log, or after their folders if there are several. Returns an exit status. */
int history_read(struct train_history **runs, int *count, const char *path);
/* Returns the stored update with this number, or NULL. */
const struct clf_train_update *history_find(const struct train_history *history, int64_t update);
void history_free(struct train_history *history);

#endif
