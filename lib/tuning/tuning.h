/* What `clformer tune` found for a device: choices and sizes that change how fast it computes, kept as lines
 * of text beside the compiled programs. */
#ifndef CLF_TUNING_TUNING_H
#define CLF_TUNING_TUNING_H

#include <clformer/device.h>

#include "base/status.h"

enum { CLF__PRECISIONS = CLF_PRECISION_INT8 + 1 };

/* Choices first: AUTO (0) leaves them to the device. They are made when a device is opened; the numbers
 * after them may change while it is open, and never change a bit of what native products compute. */
enum clf__knob {
    CLF__KNOB_FORM,
    CLF__KNOB_GEMM,
    CLF__KNOB_ATTENTION,
    CLF__KNOB_INSTRUCTIONS,
    CLF__KNOB_CHOICES,
    CLF__KNOB_CPU_GROUPS = CLF__KNOB_CHOICES,
    CLF__KNOB_CPU_OPERAND,
    CLF__KNOB_ROW_MAJOR_ROWS,
    CLF__KNOB_BATCH_TOKENS,
    CLF__KNOB_SKINNY_ROWS,                                         /* + precision */
    CLF__KNOB_STEP_ROWS = CLF__KNOB_SKINNY_ROWS + CLF__PRECISIONS, /* + precision */
    CLF__KNOB_COUNT = CLF__KNOB_STEP_ROWS + CLF__PRECISIONS
};

struct clf__tuning {
    int values[CLF__KNOB_COUNT];
};

enum { CLF__KNOB_CANDIDATES = 6 };
struct clf__knob_info {
    char name[24];
    const char *variable;     /* of the environment, for a choice; a number: NULL */
    const char *const *words; /* a choice: its value's word, NULL after the last; a number: NULL */
    int standard;             /* the value of a device that is not tuned */
    int least, most;
    int candidates[CLF__KNOB_CANDIDATES]; /* worth measuring, the standard among them */
    int candidate_count;
};
extern const struct clf__knob_info clf__knobs[CLF__KNOB_COUNT];

struct clf__tuning clf__tuning_standard(void);
int clf__tuning_is_standard(const struct clf__tuning *tuning);

/* A file: the knobs it sets, each with a comment that says how it came about. */
struct clf__tuning_file {
    struct clf__tuning tuning; /* standard where nothing is set */
    int is_set[CLF__KNOB_COUNT];
    char *notes[CLF__KNOB_COUNT]; /* owned; NULL or one line */
};
void clf__tuning_file_free(struct clf__tuning_file *file);

/* Where a device's file lies, for this version of its driver and of ours: below $XDG_CACHE_HOME/clformer.
 * CLF_FILE where there is no such folder. */
clf_status clf__tuning_path(char **out, const struct clf_device_info *info);

/* Reads a file; one that is missing is empty. What cannot be read is left at its standard with a logged
 * warning that names the file and the line. Fails for want of memory alone. */
clf_status clf__tuning_read(struct clf__tuning_file *out, const char *path);

/* Writes the knobs that are set; the old file is there until the new one is whole. */
clf_status clf__tuning_write(const char *path, const struct clf_device_info *info,
                             const struct clf__tuning_file *file);

/* Sets a knob, and its note (copied; NULL: none). */
clf_status clf__tuning_set(struct clf__tuning_file *file, enum clf__knob knob, int value, const char *note);

/* A value as a file has it. */
enum { CLF__KNOB_TEXT = 16 };
void clf__knob_text(char text[CLF__KNOB_TEXT], enum clf__knob knob, int value);

/* What a device that is opened with these options is tuned to: the standard where they or the environment's
 * CLFORMER_TUNING=off say so. *is_tuned: there is a file that sets something. */
clf_status clf__tuning_load(struct clf__tuning *out, int *is_tuned, const struct clf_device_info *info,
                            const struct clf_device_options *options);

/* Makes the choices that the options leave open: as the environment says, or else as the device is tuned.
 * CLF_BAD_ARGUMENT for a choice or a word that there is not. */
clf_status clf__tuning_choose(struct clf_device_options *options, const struct clf__tuning *tuning);

#endif
