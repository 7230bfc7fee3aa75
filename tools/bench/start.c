/* The stage "start": times a new process from its start to the first translated line. */
#define _XOPEN_SOURCE 700 /* nftw() */

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "shared/demo_model.h"
#include "shared/input.h"
#include "shared/lines.h"
#include "shared/results.h"
#include "shared/spawn.h"

enum { MOST_SECONDS = 120 };

struct start_job {
    const struct bench_call *call;
    struct bench_words words;
    char *first_line;
    char cache[64]; /* "XDG_CACHE_HOME=..." with an empty cache folder */
    long long peak_bytes;
    json_t *row;      /* keys common to both rows */
    long long tokens; /* generated tokens of the first line */
};

/* Reads the first input line with its newline. Returns an exit status. */
static int read_first_line(struct start_job *job)
{
    FILE *file = input_open(job->call->work);
    if (file == NULL) {
        return EXIT_FAILED;
    }
    size_t capacity = 0;
    long long length = input_read_line(&job->first_line, &capacity, file, LINE_BYTES_KEPT);
    if (length <= 0) {
        fprintf(stderr, "clformer: %s: cannot be read: %s\n", job->call->work,
                ferror(file) ? strerror(errno)
                : length < 0 ? "its first line is too long"
                             : "it is empty");
    }
    fclose(file);
    return length > 0 ? EXIT_DONE : EXIT_FAILED;
}

static clf_status run_translate(struct start_job *job, const char *environment, double *seconds)
{
    struct spawn spawn = {.arguments = job->words.list,
                          .input = job->first_line,
                          .environment = environment,
                          .seconds = MOST_SECONDS};
    struct spawn_end end;
    if (spawn_run(&spawn, &end) != EXIT_DONE) {
        return CLF_FILE;
    }
    if (signals_interrupted(NULL)) {
        return CLF_INTERRUPTED;
    }
    if (end.status != EXIT_DONE) {
        fprintf(stderr, "clformer: `clformer translate` failed: %s\n",
                end.timed_out ? "it timed out" : end.last_error);
        return CLF_DEVICE;
    }
    *seconds = end.seconds;
    job->peak_bytes = end.peak_bytes > job->peak_bytes ? end.peak_bytes : job->peak_bytes;
    return CLF_OK;
}

/* Translates the line in this process to get the algorithms and the number of tokens. Called after the timed
 * starts, because it would disturb them. */
static clf_status describe(struct start_job *job)
{
    struct setup setup;
    struct flags flags = job->call->flags;
    struct clf_translator *translator = NULL;
    struct clf_translation *results = NULL;
    struct clf_line line = {job->first_line, strcspn(job->first_line, "\r\n")};
    flags.min_length = flags.max_length = -1; /* the timed process had no length flags */
    if (setup_open(&setup, &flags) != EXIT_DONE) {
        return CLF_DEVICE;
    }
    clf_status status = flags_apply(&flags, setup.model) < 0 ? CLF_OK : CLF_BAD_ARGUMENT;
    if (status == CLF_OK) {
        status = clf_translator_create(&translator, setup.model, &flags.translate);
    }
    if (status == CLF_OK) {
        status = clf_translate(&results, translator, &line, 1);
    }
    if (status == CLF_OK) {
        job->tokens = results->count > 0 ? results->hypotheses[0].count : 0;
        job->row = bench_row(job->call, setup.device, "start");
        json_object_set_new(job->row, "batch", json_integer(1));
        json_object_set_new(job->row, "beam", json_integer(flags.translate.beam));
        clf_translations_free(results, 1);
    } else if (status != CLF_INTERRUPTED) {
        report_failure(status);
    }
    clf_translator_free(translator);
    flags_release(&flags);
    setup_close(&setup);
    return status;
}

static int print_row(struct start_job *job, const char *work, const struct timing *timing)
{
    json_t *row = json_deep_copy(job->row);
    json_t *rest = json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:I}", "work", work, "seconds", timing->seconds,
                             "tokens_per_second", (double)job->tokens / timing->seconds, "best_seconds",
                             timing->best, "spread", timing->spread, "repeats", timing->repeats, "peak_bytes",
                             (json_int_t)job->peak_bytes);
    int failed = json_object_update(row, rest) != 0;
    json_decref(rest);
    if (failed) {
        json_decref(row);
        row = NULL;
    }
    return bench_print(job->call, row);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

/* Uses an empty cache folder, so that every kernel is compiled. */
static clf_status first_start(struct start_job *job)
{
    char folder[] = "/tmp/clformer-bench-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        fprintf(stderr, "clformer: /tmp: a folder cannot be created: %s\n", strerror(errno));
        return CLF_FILE;
    }
    double seconds = 0;
    struct timing timing;
    snprintf(job->cache, sizeof job->cache, "XDG_CACHE_HOME=%s", folder);
    clf_status status = run_translate(job, job->cache, &seconds);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (status == CLF_OK) {
        timing_conclude(&timing, &seconds, 1);
        status = print_row(job, "first start", &timing) == EXIT_DONE ? CLF_OK : CLF_FILE;
    }
    return status;
}

static clf_status warm_start(struct start_job *job)
{
    double seconds[TIMING_MOST_REPEATS], warm_up;
    int repeats = job->call->flags.repeats > 0 ? job->call->flags.repeats : BENCH_REPEATS;
    clf_status status = run_translate(job, NULL, &warm_up);
    for (int i = 0; i < repeats && status == CLF_OK; i++) {
        status = run_translate(job, NULL, &seconds[i]);
    }
    if (status == CLF_OK) {
        status = describe(job);
    }
    if (status == CLF_OK) {
        struct timing timing;
        timing_conclude(&timing, seconds, repeats);
        status = print_row(job, "start", &timing) == EXIT_DONE ? CLF_OK : CLF_FILE;
    }
    return status;
}

int bench_start_run(struct bench_call *call)
{
    struct start_job job = {.call = call};
    char *command = command_path();
    bench_words_add(&job.words, command != NULL ? command : "clformer");
    bench_words_add(&job.words, "translate");
    bench_words_add(&job.words, "--quiet");
    bench_words_setting(&job.words, &call->flags);
    int status = read_first_line(&job);
    if (status == EXIT_DONE) {
        clf_status done = warm_start(&job);
        job.peak_bytes = 0;
        if (done == CLF_OK) {
            done = first_start(&job);
        }
        status = done == CLF_OK ? EXIT_DONE : done == CLF_INTERRUPTED ? report_interrupted() : EXIT_FAILED;
    }
    bench_words_free(&job.words);
    json_decref(job.row);
    free(job.first_line);
    free(command);
    return status;
}
