/* Declarations shared by the files of `clformer tune`, which calls internal functions of the library. */
#ifndef CLF_TOOLS_TUNE_H
#define CLF_TOOLS_TUNE_H

#include "model/infer/session.h"
#include "model/model.h"
#include "model/transformer.h"
#include "runtime/tuning/tuning.h"
#include "shared/command.h"
#include "shared/progress.h"

/* names.c: returns 1 if this run measures a parameter: without names on the command line, all parameters,
 * else only the named parameters. */
int tune_is_wanted(const struct flags *flags, enum clf__tunable tunable);
/* Returns -1 on success, or an exit status for an unknown name or a name that conflicts with a flag. */
int tune_check_names(const struct flags *flags);
/* Returns the flag or environment variable that fixes a parameter, or NULL. */
const char *tune_fixed_by(const struct flags *flags, enum clf__tunable tunable);
/* Returns the help text with the names. */
const char *tune_help(void);

/* candidates.c: lists the candidates of a numeric parameter, the default first; returns the count. */
int tune_candidates(int *out, enum clf__tunable tunable);
/* Returns 1 if the current algorithms use a parameter. */
int tune_makes_a_difference(const struct clf_device *device, const struct flags *flags,
                            enum clf__tunable tunable);
/* Returns the alternative to the device's default choice, or 0 if there is none. */
int tune_alternative(const struct clf_device *device, const struct flags *flags, enum clf__tunable tunable);

/* The work measured for each candidate of a parameter, in several cases. */
struct tune_work {
    void *context;
    int cases;
    /* Selects the candidate for the following runs. */
    clf_status (*select)(void *context, int value);
    /* Returns 1 if two candidates run a case identically, so that it need not be measured. NULL: candidates
     * never do. */
    int (*is_alike)(void *context, int case_index, int value, int other);
    /* Runs a case and waits for it to finish. */
    clf_status (*run)(void *context, int case_index);
    /* Sets *is_right to 1 if the results of the last run are correct. The first candidate runs first and is
     * the reference for the others. */
    clf_status (*check)(void *context, int case_index, int is_first, int *is_right);
};

/* The result of a candidate. */
struct tune_result {
    int value;
    int is_wrong;   /* 1 if the results are wrong; the fields below are then unset */
    int is_slow;    /* 1 if excluded before the rounds as far too slow; the fields below are then unset */
    int cases;      /* number of cases that differ from the first candidate; 0: the fields below are unset */
    double seconds; /* sum of the medians of all cases */
    double ratio;   /* time relative to the first candidate: mean over these cases, median over the rounds */
    double spread;  /* interquartile range of the ratio over the rounds */
};

/* How long to measure. */
struct tune_patience {
    int rounds;
    double seconds; /* minimum duration of a case in a round */
};

enum { TUNE_MOST_CASES = 64, TUNE_MOST_ROUNDS = 15 };

/* Measures `count` candidates in interleaved rounds; results[0] is the first. Returns CLF_INTERRUPTED if the
 * user interrupts, CLF_DEVICE if the first candidate is wrong. */
clf_status tune_measure(struct tune_result *results, const struct tune_work *work, const int *candidates,
                        int count, const struct tune_patience *patience, struct progress *progress,
                        const char *name);

/* Returns the index of the best result: the first, unless another is faster by more than the variation of the
 * measurements. */
int tune_best(const struct tune_result *results, int count);

/* gains.c: describes the gains in sentences; "" if nothing was measured. ratios: for each parameter the time
 * relative to the default; 1 if the default is the fastest, 0 if the parameter was not measured. */
enum { TUNE_GAINS_TEXT = 1024 };
void tune_describe_gains(char *text, size_t size, const double ratios[CLF__TUNABLE_COUNT]);
/* Compares the untuned model (the first result) with the tuned one. */
void tune_describe_total(char *text, size_t size, const struct tune_result results[2]);

/* Checks, before measuring, that a file can be written. */
clf_status tune_check_place(const char *path);

/* Sets a parameter in the file. Reads the file again first, because another process may have changed it. */
clf_status tune_keep(const char *path, const struct clf_device_info *info, enum clf__tunable tunable,
                     int value, const char *note);

/* GEMM with the model's shapes. */
struct tune_gemm;
clf_status tune_gemm_create(struct tune_gemm **out, const struct clf_model *model, enum clf__tunable tunable,
                            int is_quick);
void tune_gemm_free(struct tune_gemm *gemm);
void tune_gemm_work(struct tune_work *out, struct tune_gemm *gemm);

/* The model itself: encoding and decoding steps. */
struct tune_session;
/* is_large: 1 for batches that fill the compute units, as far as the memory allows. */
clf_status tune_session_create(struct tune_session **out, struct clf_model *model, int is_large,
                               int is_quick);
void tune_session_free(struct tune_session *session);

/* Decoding steps for a numeric parameter. */
struct tune_steps {
    struct tune_session *session;
    enum clf__tunable tunable;
    float *expected[TUNE_MOST_CASES]; /* owned; results of the first candidate */
};
void tune_steps_work(struct tune_work *out, struct tune_steps *steps);
void tune_steps_free(struct tune_steps *steps);

/* The same number of sources encoded and decoded in batches of several sizes. */
struct tune_batches {
    struct tune_session *session;
    int rows; /* size of the current batch */
    double tolerance;
    float *expected; /* owned; results of the first candidate */
};
void tune_batches_work(struct tune_work *out, struct tune_batches *batches);
void tune_batches_free(struct tune_batches *batches);

/* Encoding and decoding with different choices; the device is opened once for each choice. */
enum { TUNE_MOST_CHOICES = 3 };
struct tune_choices {
    int values[TUNE_MOST_CHOICES];
    struct tune_session *sessions[TUNE_MOST_CHOICES];
    int count, at;
    double tolerance;
    float *expected[TUNE_MOST_CASES];
};
void tune_choices_work(struct tune_work *out, struct tune_choices *choices);
void tune_choices_free(struct tune_choices *choices); /* also frees the sessions */

#endif
