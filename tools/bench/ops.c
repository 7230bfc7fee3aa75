/* The stages "ops", "gemm" and "attention": times ops and compares them with the peak rates of the device. */
#include "timings/ops.h"

#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "shared/peaks.h"
#include "shared/results.h"

#define OP_SECONDS 0.1 /* duration of a case without --repeats, in seconds */

struct ops_job {
    struct bench_call *call;
    struct clf_device *device;
    const struct clf_device_peaks *peaks;
    int status;
};

/* Returns the peak rate for GEMM in a precision: the rate of dot products in that precision if the device has
 * them, else the rate of FMA. */
static double peak_of(const struct ops_job *job, const struct op_result *result)
{
    clf_precision precision =
        result->by_weights ? job->call->flags.model_options.precision : CLF_PRECISION_FP32;
    return peak_operations(job->peaks, precision);
}

/* Like the peaks, rates come from the fastest repeat, because other work on the machine only adds time. */
static int add_rates(json_t *row, const struct ops_job *job, const struct op_result *result)
{
    double best = result->timing.best, peak = peak_of(job, result);
    double operations = result->operations / best, bytes = result->bytes / best;
    double share = operations / peak, read_share = bytes / job->peaks->read_bytes;
    json_t *rates = json_pack(
        "{s:f, s:f, s:f, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:b, s:b}", "seconds", result->timing.seconds,
        "best_seconds", best, "spread", result->timing.spread, "repeats", result->timing.repeats,
        "operations", (json_int_t)llround(result->operations), "bytes", (json_int_t)llround(result->bytes),
        "operations_per_second", operations, "bytes_per_second", bytes, "share_of_operations", share,
        "share_of_read", read_share, "by_weights", result->by_weights, "cold", result->cold);
    int status = json_object_update(row, rates) == 0 ? EXIT_DONE : EXIT_FAILED;
    json_decref(rates);
    return status;
}

static int report_op(void *user, const struct op_result *result)
{
    struct ops_job *job = user;
    json_t *row = bench_row(job->call, job->device, "op");
    int failed = json_object_set_new(row, "op", json_string(result->op)) != 0 ||
                 json_object_set_new(row, "shape", json_string(result->shape)) != 0;
    if (!failed && result->status == CLF_OK && result->timing.best > 0) {
        failed = json_object_set_new(row, "kernel", json_string(result->kernel)) != 0 ||
                 add_rates(row, job, result) != EXIT_DONE;
    } else if (!failed) {
        const char *reason =
            result->status == CLF_OK ? "the device clock measured no time" : clf_last_error();
        failed = json_object_set_new(row, "error", result_text(reason, strlen(reason))) != 0;
        job->status = EXIT_FAILED;
    }
    if (failed) {
        json_decref(row);
        row = NULL;
    }
    if (bench_print(job->call, row) != EXIT_DONE) {
        job->status = EXIT_FAILED;
        return 1;
    }
    return 0;
}

static int report_peaks(struct ops_job *job)
{
    json_t *row = bench_row(job->call, job->device, "peaks");
    json_t *peaks = peaks_object(job->peaks);
    int failed = json_object_update(row, peaks) != 0;
    json_decref(peaks);
    if (failed) {
        json_decref(row);
        row = NULL;
    }
    return bench_print(job->call, row);
}

int bench_ops_run(struct bench_call *call)
{
    struct ops_job job = {.call = call};
    struct setup setup;
    struct flags flags = call->flags;
    flags.model = NULL;
    flags.device_options.profile = 1;
    int status = setup_open(&setup, &flags);
    if (status != EXIT_DONE) {
        return status;
    }
    struct op_choice choice = {
        .precision = clf__precision_of(flags.model_options.precision),
        .group = flags.stage == BENCH_GEMM        ? OP_GEMM
                 : flags.stage == BENCH_ATTENTION ? OP_ATTENTION
                                                  : OP_ALL,
        .shapes = call->shapes.list,
        .shape_count = call->shapes.count,
        .least = flags.repeats > 0 ? flags.repeats : BENCH_REPEATS,
        .seconds = flags.repeats > 0 ? 0 : OP_SECONDS,
        .interrupted = signals_interrupted,
    };
    job.device = setup.device;
    clf_status done = clf_device_measure_peaks(&job.peaks, setup.device);
    if (done == CLF_OK && report_peaks(&job) != EXIT_DONE) {
        job.status = EXIT_FAILED;
    } else if (done == CLF_OK) {
        done = ops_measure(setup.device, &choice, report_op, &job);
    }
    if (done == CLF_INTERRUPTED && job.status == EXIT_DONE) {
        job.status = report_interrupted();
    } else if (done != CLF_OK && done != CLF_INTERRUPTED) {
        job.status = report_failure(done);
    }
    setup_close(&setup);
    return job.status;
}
