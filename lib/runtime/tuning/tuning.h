/* The results of `clformer tune` for a device: choices and sizes that affect only its speed, stored as
 * lines of text next to the compiled programs. */
#ifndef CLF_TUNING_TUNING_H
#define CLF_TUNING_TUNING_H

#include <clformer/device.h>

#include "base/precision.h"
#include "base/status.h"

/* Choices come first: AUTO (0) leaves them to the device. They are fixed when a device is opened. The
 * numbers after them may change while it is open, and never affect the bits of native GEMMs. */
enum clf__tunable {
    CLF__TUNABLE_VARIANT,
    CLF__TUNABLE_GEMM,
    CLF__TUNABLE_ATTENTION,
    CLF__TUNABLE_INSTRUCTIONS,
    CLF__TUNABLE_CHOICES,
    CLF__TUNABLE_CPU_GROUPS = CLF__TUNABLE_CHOICES,
    CLF__TUNABLE_CPU_OPERAND,
    CLF__TUNABLE_ROW_MAJOR_ROWS,
    CLF__TUNABLE_BATCH_TOKENS,
    CLF__TUNABLE_PIPELINED_STEPS,
    CLF__TUNABLE_SKINNY_ROWS,                                            /* + precision */
    CLF__TUNABLE_STEP_ROWS = CLF__TUNABLE_SKINNY_ROWS + CLF__PRECISIONS, /* + precision */
    CLF__TUNABLE_COUNT = CLF__TUNABLE_STEP_ROWS + CLF__PRECISIONS
};

struct clf__tuning {
    int values[CLF__TUNABLE_COUNT];
};

enum { CLF__TUNABLE_CANDIDATES = 6 };
struct clf__tunable_info {
    char name[24];
    const char *variable;     /* environment variable of a choice; NULL for a number */
    const char *const *words; /* words of a choice, terminated by NULL; NULL for a number */
    int standard;             /* the default value */
    int least, most;
    int candidates[CLF__TUNABLE_CANDIDATES]; /* values to measure, including the default */
    int candidate_count;
};
extern const struct clf__tunable_info clf__tunables[CLF__TUNABLE_COUNT];

struct clf__tuning clf__tuning_standard(void);
int clf__tuning_is_standard(const struct clf__tuning *tuning);

/* The contents of a tuning file: parameters, each with a note about its origin. */
struct clf__tuning_file {
    struct clf__tuning tuning; /* default values unless set */
    int is_set[CLF__TUNABLE_COUNT];
    char *notes[CLF__TUNABLE_COUNT]; /* owned; NULL or one line */
};
void clf__tuning_file_free(struct clf__tuning_file *file);

/* Sets *out to the path of the tuning file for a device, its driver version and this library version.
 * Returns CLF_FILE if the cache folder does not exist. */
clf_status clf__tuning_path(char **out, const struct clf_device_info *info);

/* Reads a tuning file; a missing file counts as empty. Invalid lines are skipped with a warning. Fails only
 * if memory is exhausted. */
clf_status clf__tuning_read(struct clf__tuning_file *out, const char *path);

/* Writes the parameters that are set; replaces an existing file atomically. */
clf_status clf__tuning_write(const char *path, const struct clf_device_info *info,
                             const struct clf__tuning_file *file);

/* Sets a parameter, and its note (copied; NULL: none). */
clf_status clf__tuning_set(struct clf__tuning_file *file, enum clf__tunable tunable, int value,
                           const char *note);

/* Formats a value as in a tuning file. */
enum { CLF__TUNABLE_TEXT = 16 };
void clf__tunable_text(char text[CLF__TUNABLE_TEXT], enum clf__tunable tunable, int value);

/* Loads the tuning of a device. Uses the default values if the options or CLFORMER_TUNING=off disable
 * tuning. *is_tuned: the file sets at least one parameter. */
clf_status clf__tuning_load(struct clf__tuning *out, int *is_tuned, const struct clf_device_info *info,
                            const struct clf_device_options *options);

/* Fills in the choices that the options leave open, from the environment or else from the tuning. Returns
 * CLF_BAD_ARGUMENT for an invalid choice or word. */
clf_status clf__tuning_choose(struct clf_device_options *options, const struct clf__tuning *tuning);

#endif
