/* What the files of `clformer tune` share. It changes the library's inside, so it includes lib/'s headers. */
#ifndef CLF_TOOLS_TUNE_H
#define CLF_TOOLS_TUNE_H

#include "shared/command.h"
#include "shared/progress.h"
#include "translate/internal.h"
#include "tuning/tuning.h"

/* names.c: whether this call measures a knob: it wants all, or those that it names. */
int tune_is_wanted(const struct flags *flags, enum clf__knob knob);
/* Returns -1, or the exit status of a wrong call: an unknown name, or one that a flag contradicts. */
int tune_check_names(const struct flags *flags);
/* The flag or the variable of the environment that makes a choice already, or NULL. */
const char *tune_fixed_by(const struct flags *flags, enum clf__knob knob);
/* The help, with the names. */
const char *tune_help(void);

/* What is measured under each candidate of a knob: some pieces of work. */
struct tune_work {
    void *context;
    int cases;
    /* From now on pieces run as this candidate says. */
    clf_status (*select)(void *context, int value);
    /* Whether two candidates run a piece in the same way: it is not measured then. NULL: never. */
    int (*is_alike)(void *context, int piece, int value, int other);
    /* A piece, done when it returns. */
    clf_status (*run)(void *context, int piece);
    /* After a run of a piece: whether what it computed is right. The first candidate comes first, and is
     * what the others are compared with. */
    clf_status (*check)(void *context, int piece, int is_first, int *is_right);
};

/* How a candidate did. */
struct tune_result {
    int value;
    int is_wrong;   /* it computed something else: nothing below */
    int is_slow;    /* hopelessly, already in its first run: nothing below */
    int pieces;     /* that it runs in another way than the first candidate; 0: nothing below */
    double seconds; /* medians of all pieces together */
    double ratio;   /* to the first candidate's time, the mean over these pieces; the median of the rounds */
    double spread;  /* of that: between the quartiles of the rounds */
};

/* How long to look. */
struct tune_patience {
    int rounds;
    double seconds; /* of a piece in a round, at least */
};

enum { TUNE_MOST_CASES = 64, TUNE_MOST_ROUNDS = 15 };

/* Measures `count` candidates by turns, results[0] the first. CLF_INTERRUPTED where the user asks to stop;
 * CLF_DEVICE where the first candidate is wrong by itself. */
clf_status tune_measure(struct tune_result *results, const struct tune_work *work, const int *candidates,
                        int count, const struct tune_patience *patience, struct progress *progress,
                        const char *name);

/* The best of the results: an index. The first, unless another one is faster by more than the measurements
 * vary. */
int tune_best(const struct tune_result *results, int count);

/* gains.c: what was gained, as a sentence. `ratios`: of each knob the time to that without it, 1 where
 * nothing else is faster, 0 where it was not measured; none leaves "". */
enum { TUNE_GAINS_TEXT = 1024 };
void tune_tell_gains(char *text, size_t size, const double ratios[CLF__KNOB_COUNT]);
/* Of the model, untuned (the first result) and tuned. */
void tune_tell_sum(char *text, size_t size, const struct tune_result results[2]);

/* Whether a file can be written at the path: told before anything is measured. */
clf_status tune_check_place(const char *path);

/* Sets a knob in the file as it is by now: another call may have kept something since this one began. */
clf_status tune_keep(const char *path, const struct clf_device_info *info, enum clf__knob knob, int value,
                     const char *note);

/* Matrix products of the model's shapes. */
struct tune_products;
clf_status tune_products_create(struct tune_products **out, const struct clf_model *model,
                                enum clf__knob knob, int is_quick);
void tune_products_free(struct tune_products *products);
void tune_products_work(struct tune_work *out, struct tune_products *products);

/* The model itself: encoding and decoding steps. */
struct tune_session;
/* is_large: the largest batches that suit the compute units and the memory. */
clf_status tune_session_create(struct tune_session **out, struct clf_model *model, int is_large,
                               int is_quick);
void tune_session_free(struct tune_session *session);

/* Decoding steps under a knob of numbers. */
struct tune_steps {
    struct tune_session *session;
    enum clf__knob knob;
    float *expected[TUNE_MOST_CASES]; /* owned; the first candidate's */
};
void tune_steps_work(struct tune_work *out, struct tune_steps *steps);
void tune_steps_free(struct tune_steps *steps);

/* The same number of sources encoded and decoded in batches of several sizes. */
struct tune_batches {
    struct tune_session *session;
    int rows; /* of a batch now */
    double tolerance;
    float *expected; /* owned; the first candidate's */
};
void tune_batches_work(struct tune_work *out, struct tune_batches *batches);
void tune_batches_free(struct tune_batches *batches);

/* Encoding and decoding under choices, each on a device of its own. */
enum { TUNE_MOST_CHOICES = 3 };
struct tune_choices {
    int values[TUNE_MOST_CHOICES];
    struct tune_session *sessions[TUNE_MOST_CHOICES];
    int count, at;
    double tolerance;
    float *expected[TUNE_MOST_CASES];
};
void tune_choices_work(struct tune_work *out, struct tune_choices *choices);
void tune_choices_free(struct tune_choices *choices); /* the sessions too */

#endif
