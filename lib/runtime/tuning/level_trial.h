/* The trial of a GPU level's matrix instructions on a device: whether the results are right, and how fast
 * GEMM is with and without the instructions. */
#ifndef CLF_TUNING_LEVEL_TRIAL_H
#define CLF_TUNING_LEVEL_TRIAL_H

#include <clformer/device.h>

#include "base/precision.h"
#include "runtime/tuning/trial_line.h"

/* AUTO uses a level only if fp16 GEMM is at least this many times as fast as without it. */
#define CLF__LEAST_GAIN 1.5

/* The precisions that a trial measures. bf16 is as fast as fp16. */
enum clf__trial_precision { CLF__TRIAL_FP16, CLF__TRIAL_INT8, CLF__TRIAL_PRECISIONS };

struct clf__level_trial {
    clf_instructions level;
    int is_lasting;                   /* the result may be stored for later starts */
    int is_crash;                     /* the trial crashed or did not end; not stored */
    char failure[CLF__TRIAL_FAILURE]; /* "" if the results are right; otherwise why the level is unusable, on
                                         one line */
    double plain_rates[CLF__TRIAL_PRECISIONS]; /* operations per second of GEMM without the instructions */
    double rates[CLF__TRIAL_PRECISIONS];       /* the same with the instructions */
};

/* The trials of a device, best level first. At most the last one is used. */
enum { CLF__LEVEL_TRIALS = 4 };
struct clf__level_trials {
    struct clf__level_trial trials[CLF__LEVEL_TRIALS];
    int count;
};

/* Returns how many times as fast GEMM is with the instructions; 0 after a failure. */
double clf__level_trial_gain(const struct clf__level_trial *trial, enum clf__trial_precision precision);

/* Returns whether AUTO uses the level, and whether int8 GEMM then uses its instructions: only if they are
 * faster than the integer dot products or plain code of the device. */
int clf__level_trial_is_used(const struct clf__level_trial *trial);
int clf__level_trial_serves_int8(const struct clf__level_trial *trial);

/* Describes the result and what follows from it, for users: "GEMM 4.00 times as fast in fp16, 7.00 times in
 * int8; used". */
enum { CLF__LEVEL_TRIAL_TEXT = 560 };
void clf__level_trial_describe(char text[CLF__LEVEL_TRIAL_TEXT], const struct clf__level_trial *trial);

/* Sets the failure to a message; characters that would end the line become spaces. */
void clf__level_trial_fail(struct clf__level_trial *trial, int is_lasting, const char *failure);

/* Formats a trial as one line, for cache files and between processes; the caller frees *out. The line does
 * not contain the level. */
clf_status clf__level_trial_format(char **out, const struct clf__level_trial *trial);

/* Reads the last line of a text that clf__level_trial_format() wrote; earlier lines are ignored. Returns 0 if
 * there is no such line. */
int clf__level_trial_parse(struct clf__level_trial *trial, const char *text);

#endif
