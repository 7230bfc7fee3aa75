#include <string.h>

#include "bench.h"
#include "device/caps.h"
#include "results.h"

json_t *bench_row(const struct bench_call *call, const struct clf_device *device, const char *work)
{
    const struct clf__caps *caps = clf__device_caps(device);
    char precision[16] = "";
    flags_choice(precision, sizeof precision, "precision", (int)call->flags.model_options.precision);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "engine", "clformer", "precision", precision, "work",
                     work, "form", caps->form == CLF_FORM_CPU ? "cpu" : "gpu", "gemm",
                     caps->gemm == CLF_GEMM_NATIVE ? "native" : "clblast", "attention",
                     caps->attention == CLF_ATTENTION_FUSED ? "fused" : "batched");
}

int bench_row_time(json_t *row, const struct timing *timing, long long tokens)
{
    json_t *times = json_pack("{s:f, s:f, s:f, s:i, s:I}", "seconds", timing->seconds, "tokens_per_second",
                              (double)tokens / timing->seconds, "spread", timing->spread, "repeats",
                              timing->repeats, "peak_bytes", (json_int_t)bench_peak_bytes());
    int status = json_object_update(row, times) == 0 ? EXIT_DONE : EXIT_FAILED;
    json_decref(times);
    return status;
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static const char *text(const json_t *row, const char *key)
{
    const char *value = json_string_value(json_object_get(row, key));
    return value != NULL ? value : "";
}

int bench_print(const struct bench_call *call, json_t *row)
{
    if (call->flags.json || row == NULL) {
        return result_print(row);
    }
    double seconds = number(row, "seconds");
    printf("%-9s %-4s  batch %3.0f  beam %2.0f  %10.3f ms  ± %4.1f %%  %10.1f tokens/s  peak %.0f MB\n",
           text(row, "work"), text(row, "precision"), number(row, "batch"), number(row, "beam"),
           1e3 * seconds, 50 * number(row, "spread"), number(row, "tokens_per_second"),
           1e-6 * number(row, "peak_bytes"));
    fflush(stdout);
    json_decref(row);
    return output_failed() ? EXIT_FAILED : EXIT_DONE;
}

long long bench_peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    long long kilobytes = 0;
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "VmHWM: %lld kB", &kilobytes) != 1) {
    }
    if (file != NULL) {
        fclose(file);
    }
    return 1024 * kilobytes;
}
