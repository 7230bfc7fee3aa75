/* What the files of `clformer bench` share. It measures the library's inside, so it includes lib/'s headers.
 *
 * Everything measured is a row, a JSON object: of a case of a stage (see bench_stage.c), of an op, of a
 * start. A row that failed has "error" instead of "seconds". */
#ifndef CLF_TOOLS_BENCH_H
#define CLF_TOOLS_BENCH_H

#include <jansson.h>

#include "command.h"
#include "timing.h"

/* In the order of --stage. */
enum bench_stage { BENCH_ENCODE, BENCH_TRANSLATE, BENCH_SCORE, BENCH_OPS, BENCH_PRODUCTS };

enum { BENCH_REPEATS = 5 }; /* unless --repeats says another number */

/* Numbers between commas. */
enum { BENCH_MOST_NUMBERS = 16 };
struct bench_numbers {
    int values[BENCH_MOST_NUMBERS];
    int count;
};

/* What a call asks for. */
struct bench_call {
    struct flags flags;
    char *model; /* owned */
    char *work;  /* owned: the file of lines */
    struct bench_numbers batches, beams;
};

/* Times the cases of flags.stage, each as soon as it is measured given to bench_print(). Returns an exit
 * status. */
int bench_stage_run(struct bench_call *call);
/* Times the ops, or the matrix products alone, in the same way. Needs no model. */
int bench_ops_run(struct bench_call *call);

/* "engine", "precision" and how the device computes. */
json_t *bench_row(const struct bench_call *call, const struct clf_device *device, const char *work);
/* Adds what was timed; `tokens` of one call. */
int bench_row_time(json_t *row, const struct timing *timing, long long tokens);
/* One row: a line of text, or with --json the object. Takes the row, NULL too. Returns an exit status. */
int bench_print(const struct bench_call *call, json_t *row);

/* The most memory that this process ever held, in bytes; 0 where the system does not say. */
long long bench_peak_bytes(void);

#endif
