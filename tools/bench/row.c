#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "runtime/device/caps.h"
#include "runtime/tuning/levels.h"
#include "shared/peaks.h"
#include "shared/results.h"

json_t *bench_row(const struct bench_call *call, const struct clf_device *device, const char *work)
{
    char precision[16] = "";
    flags_choice(precision, sizeof precision, "precision", (int)call->flags.model_options.precision);
    const struct clf__caps *caps = clf__device_caps(device);
    /* CLBlast supports only fp32 weights; other precisions always use native kernels */
    int is_native =
        caps->gemm == CLF_GEMM_NATIVE || call->flags.model_options.precision != CLF_PRECISION_FP32;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "engine", "clformer", "precision", precision,
                     "work", work, "variant", caps->variant == CLF_VARIANT_CPU ? "cpu" : "gpu",
                     "instructions", clf__level_words[caps->level->name], "gemm",
                     is_native ? "native" : "clblast", "attention",
                     caps->attention == CLF_ATTENTION_FUSED ? "fused" : "batched", "tuned",
                     !clf__tuning_is_standard(&caps->tuning));
}

int bench_row_time(json_t *row, const struct timing *timing, long long tokens)
{
    json_t *times =
        json_pack("{s:f, s:f, s:f, s:f, s:i, s:I, s:I}", "seconds", timing->seconds, "tokens_per_second",
                  (double)tokens / timing->seconds, "best_seconds", timing->best, "spread", timing->spread,
                  "repeats", timing->repeats, "peak_bytes", (json_int_t)bench_memory("VmHWM"), "memory_bytes",
                  (json_int_t)bench_memory("RssAnon"));
    int status = json_object_update(row, times) == 0 ? EXIT_DONE : EXIT_FAILED;
    json_decref(times);
    return status;
}

double bench_number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

const char *bench_text(const json_t *row, const char *key)
{
    const char *value = json_string_value(json_object_get(row, key));
    return value != NULL ? value : "";
}

static void print_case(const json_t *row)
{
    printf("%-9s %-4s  batch %3.0f  beam %2.0f  %10.3f ms  ± %4.1f %%  %10.1f tokens/s  peak %.0f MB",
           bench_text(row, "work"), bench_text(row, "precision"), bench_number(row, "batch"),
           bench_number(row, "beam"), 1e3 * bench_number(row, "seconds"), 50 * bench_number(row, "spread"),
           bench_number(row, "tokens_per_second"), 1e-6 * bench_number(row, "peak_bytes"));
    if (bench_number(row, "devices") > 1) {
        printf("  %.0f devices", bench_number(row, "devices"));
    }
    printf("\n");
}

static void print_step(const json_t *row)
{
    printf(
        "%-9s %-4s  batch %3.0f  %10.3f ms  ± %4.1f %%  %5.1f %% ± %4.1f %% of a stream read of %.1f GB/s\n",
        bench_text(row, "work"), bench_text(row, "precision"), bench_number(row, "batch"),
        1e3 * bench_number(row, "seconds"), 50 * bench_number(row, "spread"),
        100 * bench_number(row, "share_of_read"), 50 * bench_number(row, "share_spread"),
        1e-9 * bench_number(row, "read_bytes_per_second"));
}

static void print_start(const json_t *row)
{
    printf("%-12s %-4s  %8.3f s  ± %4.1f %%  peak %.0f MB\n", bench_text(row, "work"),
           bench_text(row, "precision"), bench_number(row, "seconds"), 50 * bench_number(row, "spread"),
           1e-6 * bench_number(row, "peak_bytes"));
}

void bench_print_peaks(const char *fma, const json_t *peaks)
{
    const char *before = "";
    for (int i = 0; i < PEAK_KINDS; i++) {
        double rate = bench_number(peaks, peak_kinds[i].key);
        if (rate > 0) {
            printf("%s%.1f %s of %s", before, 1e-9 * rate, peak_kinds[i].unit,
                   i == PEAK_FMA ? fma : peak_kinds[i].label);
            before = ", ";
        }
    }
    putchar('\n');
}

static void print_peaks(const json_t *row)
{
    printf("peak rates: ");
    bench_print_peaks("fp32 FMA", row);
}

static void print_op(const json_t *row)
{
    printf("%-17s %-36s %-4s %9.1f us %8.1f GFLOP/s %5.1f %% %7.1f GB/s %5.1f %%%s\n", bench_text(row, "op"),
           bench_text(row, "shape"), bench_text(row, "precision"), 1e6 * bench_number(row, "seconds"),
           1e-9 * bench_number(row, "operations_per_second"), 100 * bench_number(row, "share_of_operations"),
           1e-9 * bench_number(row, "bytes_per_second"), 100 * bench_number(row, "share_of_read"),
           json_is_true(json_object_get(row, "cold")) ? " cold" : "");
}

static void print_failure(const json_t *row)
{
    if (strcmp(bench_text(row, "work"), "op") == 0) {
        printf("%-17s %-36s FAILED: %s\n", bench_text(row, "op"), bench_text(row, "shape"),
               bench_text(row, "error"));
    } else {
        printf("%-9s %-4s  batch %3.0f  beam %2.0f  FAILED: %s\n", bench_text(row, "work"),
               bench_text(row, "precision"), bench_number(row, "batch"), bench_number(row, "beam"),
               bench_text(row, "error"));
    }
}

int bench_print(const struct bench_call *call, json_t *row)
{
    if (row != NULL && call->rows != NULL && json_array_append(call->rows, row) != 0) {
        json_decref(row);
        row = NULL;
    }
    if (call->flags.json || row == NULL) {
        return result_print(row);
    }
    if (json_object_get(row, "error") != NULL) {
        print_failure(row);
    } else if (strcmp(bench_text(row, "work"), "peaks") == 0) {
        print_peaks(row);
    } else if (strcmp(bench_text(row, "work"), "op") == 0) {
        print_op(row);
    } else if (strcmp(bench_text(row, "work"), "step") == 0) {
        print_step(row);
    } else if (strstr(bench_text(row, "work"), "start") != NULL) {
        print_start(row);
    } else {
        print_case(row);
    }
    fflush(stdout);
    json_decref(row);
    return output_failed() ? EXIT_FAILED : EXIT_DONE;
}

static json_t *failed_row(const struct bench_call *call, const struct bench_case *one)
{
    char work[16] = "";
    const char *reason = clf_last_error();
    flags_choice(work, sizeof work, "stage", call->flags.stage);
    json_t *row = bench_row(call, one->device, work);
    int failed = json_object_set_new(row, "batch", json_integer(one->batch)) != 0 ||
                 json_object_set_new(row, "beam", json_integer(one->beam)) != 0 ||
                 json_object_set_new(row, "error", result_text(reason, strlen(reason))) != 0;
    if (failed) {
        json_decref(row);
        return NULL;
    }
    return row;
}

int bench_end_case(const struct bench_call *call, const struct bench_case *one, clf_status status,
                   json_t *row)
{
    if (status == CLF_INTERRUPTED) {
        return report_interrupted();
    }
    int printed = bench_print(call, status == CLF_OK ? row : failed_row(call, one));
    return status == CLF_OK ? printed : EXIT_FAILED;
}

long long bench_memory(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    long long kilobytes = 0;
    size_t length = strlen(key);
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            kilobytes = strtoll(line + length + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return 1024 * kilobytes;
}
