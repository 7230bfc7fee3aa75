/* `clformer bench` without --stage: measures one device at a time. Each stage runs in a separate
 * process, so that a crash of the driver loses only one row, and memory is measured per stage. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "bench/bench.h"
#include "shared/demo_model.h"
#include "shared/erase_line.h"
#include "shared/page.h"
#include "shared/progress.h"
#include "shared/results.h"
#include "shared/spawn.h"

/* A warm-up compiles the kernels of the following jobs, so that their times and memory exclude compilation.
 * Its rows are discarded. If it fails, these jobs are skipped. */
enum job_kind { JOB_ALONE, JOB_WARM_UP, JOB_BEHIND };

/* The flags of a child process for one device; NULL omits a flag. */
struct job {
    const char *stage, *precision, *gemm, *batch, *repeats;
    enum job_kind kind;
    const char *shape;
};

/* Time limits in seconds of one job (which may compile) and of one device. */
enum { JOB_SECONDS = 180, DEVICE_SECONDS = 420, MOST_JOBS = 32 };
enum { QUICK_SECONDS = 50 }; /* time limit of all devices together with --quick */

struct run {
    struct bench_call *call;
    const char *command;
    json_t *rows; /* rows of the current device, borrowed */
    int is_shown; /* the progress line is visible */
    const char *device;
    double seconds; /* time limit per device */
    const struct job *job;
    int job_index, job_count;
    int good_count, failed_count; /* rows of the job */
    char reason[640];             /* why the last job failed */
    const struct job *failed;     /* the last warm-up if it failed for this reason, else NULL */
};

/* Lists the jobs of a precision and GEMM backend; returns the count. */
static int list_stages(struct job *jobs, const char *precision, const char *gemm, const char *repeats)
{
    jobs[0] = (struct job){"translate", precision, gemm, "1,8,64", "1", JOB_WARM_UP, NULL};
    jobs[1] = (struct job){"encode", precision, gemm, "1,8,64", repeats, JOB_BEHIND, NULL};
    jobs[2] = (struct job){"translate", precision, gemm, "1,8,64", repeats, JOB_BEHIND, NULL};
    return 3;
}

/* Lists the jobs of the training step; returns the count. */
static int list_training(struct job *jobs, const char *precision)
{
    jobs[0] = (struct job){"train", precision, "native", "1,8,64", "1", JOB_WARM_UP, NULL};
    jobs[1] = (struct job){"train", precision, "native", "1,8,64", NULL, JOB_BEHIND, NULL};
    return 2;
}

/* Lists all jobs of a device, the most important stages first, in case the time runs out. */
static int list_jobs(struct job *jobs, char precisions[][16])
{
    int count = 0, precision_count = 0;
    while (flags_choice(precisions[precision_count], sizeof precisions[0], "precision",
                        CLF_PRECISION_FP32 + precision_count)) {
        precision_count++;
    }
    jobs[count++] = (struct job){"ops", "fp32", "native", NULL, NULL, JOB_ALONE, NULL};
    count += list_stages(jobs + count, "fp32", "native", NULL);
    jobs[count++] = (struct job){"start", "fp32", "native", NULL, "3", JOB_ALONE, NULL};
    for (int i = 1; i < precision_count; i++) {
        jobs[count++] = (struct job){"gemm", precisions[i], "native", NULL, NULL, JOB_ALONE, NULL};
        count += list_stages(jobs + count, precisions[i], "native", NULL);
    }
    count += list_training(jobs + count, "fp32");
    count += list_training(jobs + count, "bf16");
    count += list_stages(jobs + count, "fp32", "clblast", "3");
    jobs[count++] = (struct job){"gemm", "fp32", "clblast", NULL, "2", JOB_ALONE, NULL};
    return count;
}

/* Lists the jobs of --quick: the model's speed, and one GEMM, which also measures the peaks. */
static int list_quick_jobs(struct job *jobs)
{
    int count = list_stages(jobs, "fp32", "native", "2");
    jobs[count++] = (struct job){"gemm", "fp32", "native", NULL, "2", JOB_ALONE, "2048x512x512"};
    jobs[count++] = (struct job){"translate", "int8", "native", "1,8,64", "2", JOB_ALONE, NULL};
    return count;
}

static void show_progress(const struct run *run)
{
    if (run->is_shown) {
        erase_line();
        fprintf(stderr, "[%d/%d] %s: %s, %s, %s, row %d", run->job_index + 1, run->job_count, run->device,
                run->job->stage, run->job->precision, run->job->gemm,
                run->good_count + run->failed_count + 1);
        fflush(stderr);
    }
}

static void take_row(void *user, char *line)
{
    struct run *run = user;
    json_t *row = json_loads(line, 0, NULL);
    const char *error = json_string_value(json_object_get(row, "error"));
    if (error != NULL) {
        snprintf(run->reason, sizeof run->reason, "%s", error);
        run->failed_count++;
    } else if (row != NULL) {
        run->good_count++;
    }
    if (row != NULL && run->job->kind != JOB_WARM_UP) {
        json_array_append(run->rows, row);
    }
    json_decref(row);
    show_progress(run);
}

static void add_failure(struct run *run)
{
    const char *reason = run->reason;
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "engine", "clformer", "precision", run->job->precision, "work",
                  run->job->stage, "gemm", run->job->gemm, "error", result_text(reason, strlen(reason)));
    if (row == NULL || json_array_append_new(run->rows, row) != 0) {
        fprintf(stderr, "clformer: out of memory\n");
        exit(EXIT_FAILED);
    }
}

/* Returns 1 if a job failed without a row that reports it, and writes the reason to run->reason. */
static int ended_badly(struct run *run, const struct spawn_end *end)
{
    const size_t size = sizeof run->reason;
    if (end->timed_out) {
        snprintf(run->reason, size, "timed out after %.0f s", end->seconds);
    } else if (end->signal != 0) {
        snprintf(run->reason, size, "the driver crashed: %s%s%s", strsignal(end->signal),
                 end->last_error[0] != '\0' ? "; " : "", end->last_error);
    } else if (end->status != EXIT_DONE && end->last_error[0] != '\0') {
        snprintf(run->reason, size, "%s", end->last_error);
    } else if (end->status != EXIT_DONE && run->failed_count == 0) {
        snprintf(run->reason, size, "failed without an error message");
    } else {
        return 0;
    }
    return 1;
}

static void judge(struct run *run, const struct spawn_end *end)
{
    int bad = ended_badly(run, end);
    if (run->job->kind == JOB_WARM_UP) {
        bad = run->good_count == 0; /* otherwise the following jobs report their failures */
        run->failed = bad ? run->job : NULL;
    }
    if (bad) {
        add_failure(run);
    }
}

static int run_job(struct run *run, const struct job *job, double seconds)
{
    struct bench_words words = {.count = 0};
    struct spawn_end end;
    char repeats[16];
    run->job = job;
    run->good_count = run->failed_count = 0;
    show_progress(run);
    bench_words_add(&words, run->command);
    bench_words_add(&words, "bench");
    bench_words_add(&words, "--json");
    bench_words_add(&words, "--quiet");
    bench_words_pair(&words, "--stage", job->stage);
    struct flags flags = run->call->flags;
    flags.device = run->device;
    int has_model = strcmp(job->stage, "ops") != 0 && strcmp(job->stage, "gemm") != 0;
    if (!has_model) {
        flags.model = NULL;
        flags.tokens = 0;
    }
    bench_words_setting(&words, &flags);
    bench_words_pair(&words, "--precision", job->precision); /* overrides the precision set above */
    bench_words_pair(&words, "--gemm", job->gemm);
    bench_words_pair(&words, "--batch", job->batch);
    snprintf(repeats, sizeof repeats, "%d", flags.repeats);
    bench_words_pair(&words, "--repeats", flags.repeats > 0 ? repeats : job->repeats);
    bench_words_pair(&words, "--shape", job->shape);
    bench_words_pair(&words, "--work", has_model ? run->call->work : NULL);
    struct spawn spawn = {.arguments = words.list, .seconds = seconds, .line = take_row, .user = run};
    int status = spawn_run(&spawn, &end);
    bench_words_free(&words);
    if (status == EXIT_DONE && !signals_interrupted(NULL)) {
        judge(run, &end);
    }
    return status;
}

/* Returns 1 if a row shows that the device has bf16 dot products. */
static int has_bf16(const struct run *run)
{
    double most = 0;
    size_t index;
    json_t *row;
    json_array_foreach(run->rows, index, row)
    {
        double rate = bench_number(row, "bf16_operations_per_second");
        most = rate > most ? rate : most;
    }
    return most > 0;
}

/* Returns 0 for jobs of a GEMM backend that --gemm excludes, and for training in bf16 on devices without bf16
 * dot products, where it is slower than fp32. */
static int is_wanted(const struct run *run, const struct job *job)
{
    if (strcmp(job->stage, "train") == 0 && strcmp(job->precision, "bf16") == 0 && !has_bf16(run)) {
        return 0;
    }
    char gemm[16] = "auto";
    flags_choice(gemm, sizeof gemm, "gemm", (int)run->call->flags.device_options.gemm);
    return strcmp(gemm, "auto") == 0 || strcmp(gemm, job->gemm) == 0;
}

/* Runs a job, or records why it is skipped. */
static int run_or_leave_out(struct run *run, double seconds)
{
    const struct job *job = run->job;
    run->failed = job->kind == JOB_BEHIND ? run->failed : NULL;
    if (run->failed != NULL) {
        if (strcmp(job->stage, run->failed->stage) !=
            0) { /* the warm-up's failure was already recorded for its own stage */
            add_failure(run);
        }
        return EXIT_DONE;
    }
    if (seconds <= 0) {
        snprintf(run->reason, sizeof run->reason, "skipped, because the time for this device was used up");
        if (job->kind != JOB_WARM_UP) { /* the next job records the reason */
            add_failure(run);
        }
        return EXIT_DONE;
    }
    return run_job(run, job, seconds < JOB_SECONDS ? seconds : JOB_SECONDS);
}

static int run_jobs(struct run *run)
{
    char precisions[MOST_JOBS][16];
    struct job jobs[MOST_JOBS];
    double end = seconds_now() + run->seconds;
    int status = EXIT_DONE;
    run->job_count = run->call->flags.quick ? list_quick_jobs(jobs) : list_jobs(jobs, precisions);
    for (run->job_index = 0; run->job_index < run->job_count && status == EXIT_DONE; run->job_index++) {
        run->job = &jobs[run->job_index];
        if (signals_interrupted(NULL)) {
            return EXIT_FAILED;
        }
        if (is_wanted(run, run->job)) {
            status = run_or_leave_out(run, end - seconds_now());
        }
    }
    return status;
}

static void share_time(struct run *run, int device_count)
{
    run->seconds = run->call->flags.quick ? (double)QUICK_SECONDS / device_count : DEVICE_SECONDS;
}

static int measure_device(struct run *run, json_t *devices, const struct clf_device_info *info)
{
    json_t *device = bench_device_object(run->call, info);
    char index[16];
    snprintf(index, sizeof index, "%d", info->index);
    run->device = index;
    run->rows = json_object_get(device, "rows");
    if (device == NULL || json_array_append_new(devices, device) != 0) {
        fprintf(stderr, "clformer: out of memory\n");
        return EXIT_FAILED;
    }
    return run_jobs(run);
}

/* Measures the devices named by -d or the environment, one at a time. */
static int measure_named(struct run *run, json_t *devices)
{
    const struct flags *flags = &run->call->flags;
    struct clf_device **opened;
    int count, status = EXIT_DONE;
    clf_status done = clf_devices_open(&opened, &count, flags->device, &flags->device_options);
    if (done != CLF_OK) {
        return report_failure(done);
    }
    share_time(run, count);
    for (int i = 0; i < count && status == EXIT_DONE; i++) {
        status = measure_device(run, devices, clf_device_describe(opened[i]));
    }
    clf_devices_close(opened, count);
    return status;
}

/* Measures the named devices, or all devices. Returns an exit status. */
static int measure(struct run *run, json_t *devices)
{
    if (run->call->flags.device != NULL || clf__environment_value("CLFORMER_DEVICE") != NULL) {
        return measure_named(run, devices);
    }
    struct clf_device_list *list;
    clf_status listed = clf_device_list_create(&list);
    if (listed != CLF_OK) {
        return report_failure(listed);
    }
    int status = EXIT_DONE;
    share_time(run, clf_device_list_count(list));
    for (int i = 0; i < clf_device_list_count(list) && status == EXIT_DONE; i++) {
        status = measure_device(run, devices, clf_device_list_at(list, i));
    }
    if (clf_device_list_count(list) == 0) {
        status = report_no_device(list);
    }
    clf_device_list_free(list);
    return status;
}

/* Returns 1 if any row was measured. */
static int has_rows(const json_t *devices)
{
    size_t index, count = 0;
    json_t *device;
    json_array_foreach(devices, index, device)
    {
        count += json_array_size(json_object_get(device, "rows"));
    }
    return count > 0;
}

int bench_all_run(struct bench_call *call)
{
    char *command = command_path();
    struct run run = {
        .call = call, .command = command, .is_shown = !call->flags.quiet && isatty(STDERR_FILENO)};
    json_t *devices = json_array();
    int status = command != NULL && devices != NULL ? EXIT_DONE : EXIT_FAILED;
    if (status == EXIT_DONE && call->flags.html != NULL) {
        status = page_check(call->flags.html); /* checks the output path before minutes of work */
    }
    if (status == EXIT_DONE) {
        status = measure(&run, devices);
    }
    if (run.is_shown) {
        erase_line();
    }
    if (signals_interrupted(NULL)) {
        if (has_rows(devices) && bench_report(call, devices) == EXIT_DONE) {
            fprintf(stderr, "clformer: the report contains the rows measured before the interrupt\n");
        }
        status = report_interrupted();
    } else if (status == EXIT_DONE) {
        status = bench_report(call, devices);
    }
    json_decref(devices);
    free(command);
    return status;
}
