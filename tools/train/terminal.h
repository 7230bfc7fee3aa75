/* What a run says on standard error: on a terminal a line that changes with the updates, elsewhere one every
 * half minute, and everywhere lines for the start, each validation and the end. */
#ifndef CLF_TOOLS_TRAIN_TERMINAL_H
#define CLF_TOOLS_TRAIN_TERMINAL_H

#include <clformer/train.h>

struct terminal {
    int quiet;
    int live;       /* standard error is a terminal */
    int has_warned; /* that the run takes more than a day */
    int is_drawn;   /* the changing line stands there */
    double begun,
        drawn;    /* when, in seconds; elsewhere than on a terminal a line is printed every half minute */
    double first; /* when the first update was done: it compiled kernels */
    double tokens, seconds; /* of the last updates, older ones counting less and less */
    double waited;          /* likewise */
    int ranks;
    int64_t updates; /* of this run */
    int64_t last;
};

void terminal_begin(struct terminal *terminal, int quiet);
void terminal_started(struct terminal *terminal, const struct clf_train_start *start, const char *device);
void terminal_updated(struct terminal *terminal, const struct clf_train_update *update);
void terminal_validated(struct terminal *terminal, const struct clf_train_validation *validation);
/* The model is done, in that folder. */
void terminal_done(struct terminal *terminal, const char *output);
/* Wipes the changing line, so that something else can be printed there. */
void terminal_clear(struct terminal *terminal);

#endif
