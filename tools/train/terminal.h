/* Progress of a run on standard error: a progress line on a terminal, otherwise a line every half minute; in
 * both cases also lines for the start, each validation and the end. */
#ifndef CLF_TOOLS_TRAIN_TERMINAL_H
#define CLF_TOOLS_TRAIN_TERMINAL_H

#include <clformer/train.h>

struct terminal {
    int quiet;
    int live;               /* standard error is a terminal */
    int has_warned;         /* warned that the run takes more than a day */
    int is_drawn;           /* the progress line is visible */
    double begun, drawn;    /* times in seconds: the start of the run, and the last progress output */
    double first;           /* end of the first update, which compiled kernels */
    double tokens, seconds; /* exponentially decaying sums over recent updates */
    double waited;          /* decaying sum of the time in which rank 0 waited */
    int ranks;
    int64_t updates; /* updates in this run */
    int64_t last;
};

void terminal_begin(struct terminal *terminal, int quiet);
void terminal_started(struct terminal *terminal, const struct clf_train_start *start, const char *device);
void terminal_updated(struct terminal *terminal, const struct clf_train_update *update);
void terminal_validated(struct terminal *terminal, const struct clf_train_validation *validation);
/* Prints that the model in a folder is complete. */
void terminal_done(struct terminal *terminal, const char *output);
/* Erases the progress line, so that other output can be printed. */
void terminal_clear(struct terminal *terminal);

#endif
