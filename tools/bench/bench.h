/* Declarations shared by the files of `clformer bench`, which calls internal functions of the library. Each
 * measurement is a row, a JSON object: a case of a stage (stage.c), an op, or a process start. A row of a
 * failed measurement has "error" instead of "seconds". */
#ifndef CLF_TOOLS_BENCH_H
#define CLF_TOOLS_BENCH_H

#include <jansson.h>

#include "shared/command.h"
#include "timings/ops.h"
#include "timings/timing.h"

/* The stages, in the order of the choices of --stage. */
enum bench_stage {
    BENCH_ENCODE,
    BENCH_TRANSLATE,
    BENCH_SCORE,
    BENCH_SERVE,
    BENCH_TRANSCRIBE,
    BENCH_TRAIN,
    BENCH_STEP,
    BENCH_OPS,
    BENCH_GEMM,
    BENCH_ATTENTION,
    BENCH_START
};

enum { BENCH_REPEATS = 5 }; /* default of --repeats */

/* A comma-separated list of numbers. */
enum { BENCH_MOST_NUMBERS = 16 };
struct bench_numbers {
    int values[BENCH_MOST_NUMBERS];
    int count;
};

/* A comma-separated list of op shapes. */
struct bench_shapes {
    struct op_shape list[BENCH_MOST_NUMBERS];
    int count;
};

/* The options of the command. */
struct bench_call {
    struct flags flags;
    char *model; /* owned */
    char *work;  /* owned; path of the input lines */
    struct bench_numbers batches, beams;
    struct bench_shapes shapes;
    json_t *rows; /* rows of a stage for --html; NULL without it */
};

/* Times the cases of flags.stage and prints each result as soon as it is measured. Returns an exit status. */
int bench_stage_run(struct bench_call *call);
/* Fails because of a line of the work file; index 0 is the first line. */
clf_status bench_unusable_line(int index, const char *problem);
/* Parse "1,8,64", and "2048x512x512,..." with `sizes` sizes each. Return -1 on success, or an exit status for
 * an invalid value. */
int bench_parse_numbers(struct bench_numbers *out, const char *flag, const char *list);
int bench_parse_shapes(struct bench_shapes *out, const char *list, int sizes);

/* Runs one case of the stage "train" with a model that was loaded in fp32: a step with the first `batch`
 * lines. */
int bench_train_run(struct bench_call *call, const struct setup *setup, const struct clf_line *lines,
                    int batch);
/* Runs one case of the stage "step": alternates a greedy decoding step of the first `batch` lines with a
 * stream read. lines is NULL for a Whisper model, which decodes `batch` copies of the recording call->work.
 */
int bench_step_run(struct bench_call *call, const struct setup *setup, const struct clf_line *lines,
                   int batch);
/* Times the stage "transcribe" for each batch size and beam size; the work file is a recording. Returns an
 * exit status. */
int bench_transcribe_run(struct bench_call *call);
/* Times the stage "ops", "gemm" or "attention", which need no model. Returns an exit status. */
int bench_ops_run(struct bench_call *call);

/* Times the stage "start", with warm and with empty caches. Returns an exit status. */
int bench_start_run(struct bench_call *call);

/* The arguments of a child process; the list ends with NULL. */
enum { BENCH_MOST_WORDS = 40 };
struct bench_words {
    char *list[BENCH_MOST_WORDS];
    int count;
};
void bench_words_add(struct bench_words *words, const char *word);
void bench_words_pair(struct bench_words *words, const char *flag,
                      const char *value); /* value NULL: adds nothing */
/* Adds the flags that select the device, the model and the algorithms. */
void bench_words_setting(struct bench_words *words, const struct flags *flags);
void bench_words_free(struct bench_words *words);

/* Creates a row with the keys "engine", "precision" and the algorithms of the device. */
json_t *bench_row(const struct bench_call *call, const struct clf_device *device, const char *work);
/* Adds the times to a row; `tokens` is the number of tokens per call. */
int bench_row_time(json_t *row, const struct timing *timing, long long tokens);
/* Prints a row as a line of text or, with --json, as JSON. Takes ownership of the row, which may be NULL.
 * Returns an exit status. */
int bench_print(const struct bench_call *call, json_t *row);

/* A finished case of a stage. */
struct bench_case {
    const struct clf_device *device;
    int batch, beam;
};
/* Prints the row of a case or, if `status` is a failure, a row with clf_last_error(). Takes ownership of the
 * row. Returns an exit status. */
int bench_end_case(const struct bench_call *call, const struct bench_case *one, clf_status status,
                   json_t *row);

/* Measures every device, or the devices named by flags.device or $CLFORMER_DEVICE, and prints the report.
 * Returns an exit status. */
int bench_all_run(struct bench_call *call);
/* Merges the reports in the files named by the operands, and prints the result. Returns an exit status. */
int bench_merge_run(struct bench_call *call);

/* Returns the description of a device for a report, without rows. */
json_t *bench_device_object(const struct bench_call *call, const struct clf_device_info *info);
/* Writes a page with the rows of a single stage. Returns an exit status. */
int bench_stage_page(const struct bench_call *call);

/* Prints the report of the devices as a table, or as JSON with --json, and writes --html. Takes ownership
 * of the report. */
int bench_report(const struct bench_call *call, json_t *devices);
void bench_table(const json_t *devices);
/* Writes a self-contained page. Returns an exit status. */
int bench_page_write(const char *path, json_t *report);

/* Return the description of the machine, and the current time, for a report. */
json_t *bench_machine(void);
json_t *bench_date(void);

/* Return a value of a row; 0 or "" if the key is missing. */
double bench_number(const json_t *row, const char *key);
const char *bench_text(const json_t *row, const char *key);

/* Prints a device's peak rates and a newline; `fma` is the label of the first rate. */
void bench_print_peaks(const char *fma, const json_t *peaks);

/* Returns the memory of this process in bytes by its key in /proc/self/status: "VmHWM" (peak) or "RssAnon"
 * (current, without files); 0 if unknown. */
long long bench_memory(const char *key);

#endif
