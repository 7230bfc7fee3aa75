#include <string.h>

#include "bench/bench.h"
#include "shared/page.h"
#include "shared/peaks.h"
#include "shared/results.h"

/* Sets the peak rates to the best values of all processes, because other work on the machine only lowers
 * them. */
static int set_peaks(json_t *device, double best[PEAK_KINDS])
{
    json_t *object = json_object();
    size_t index;
    json_t *row;
    int failed = object == NULL;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        for (int i = 0; i < PEAK_KINDS && strcmp(bench_text(row, "work"), "peaks") == 0; i++) {
            double value = bench_number(row, peak_kinds[i].key);
            best[i] = value > best[i] ? value : best[i];
        }
    }
    for (int i = 0; i < PEAK_KINDS && !failed; i++) {
        failed = json_object_set_new(object, peak_kinds[i].key, json_real(best[i])) != 0;
    }
    return json_object_set_new(device, "peaks", object) != 0 || failed;
}

static int peak_of_word(const char *precision)
{
    return strcmp(precision, "int8") == 0   ? PEAK_INT8
           : strcmp(precision, "bf16") == 0 ? PEAK_BF16
           : strcmp(precision, "fp16") == 0 ? PEAK_FP16
                                            : PEAK_FMA;
}

/* Sets the fraction of the peak (roofline): the minimum time for the arithmetic or for the memory reads,
 * whichever is longer, divided by the measured time. It can exceed 1 if operands are in a cache. */
static int set_share(json_t *row, const double best[PEAK_KINDS])
{
    double seconds = bench_number(row, "best_seconds"), arithmetic = best[PEAK_FMA];
    json_object_del(row, "share"); /* in merged reports; recomputed from their peaks, if any */
    json_object_del(row, "bound");
    if (strcmp(bench_text(row, "work"), "op") != 0 || !(seconds > 0) || !(best[PEAK_FMA] > 0) ||
        !(best[PEAK_READ] > 0)) {
        return 0;
    }
    if (json_is_true(json_object_get(row, "by_weights"))) {
        int own = peak_of_word(bench_text(row, "precision"));
        arithmetic = best[own] > 0 ? best[own] : best[PEAK_FMA];
    }
    double computing = bench_number(row, "operations") / arithmetic;
    double reading = bench_number(row, "bytes") / best[PEAK_READ];
    double least = computing > reading ? computing : reading;
    return json_object_set_new(row, "share", json_real(least / seconds)) != 0 ||
           json_object_set_new(row, "bound", json_string(computing > reading ? "arithmetic" : "reading")) !=
               0;
}

/* Returns the last component of a path; "none" for NULL. */
static json_t *last_part(const char *path)
{
    size_t length;
    if (path == NULL) {
        return json_string("none");
    }
    const char *part = page_last_part(path, &length);
    return result_text(part, length);
}

json_t *bench_device_object(const struct bench_call *call, const struct clf_device_info *info)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:i, s:I, s:o, s:o, s:[]}", "machine",
                     bench_machine(), "clformer", CLF_VERSION_STRING, "date", bench_date(), "name",
                     result_text(info->name, strlen(info->name)), "platform",
                     result_text(info->platform_name, strlen(info->platform_name)), "version",
                     result_text(info->version, strlen(info->version)), "driver",
                     result_text(info->driver, strlen(info->driver)), "kind",
                     info->kind == CLF_DEVICE_GPU   ? "gpu"
                     : info->kind == CLF_DEVICE_CPU ? "cpu"
                                                    : "other",
                     "variant", info->variant == CLF_VARIANT_CPU ? "cpu" : "gpu", "compute_units",
                     (int)info->compute_units, "memory_bytes", (json_int_t)info->memory_bytes, "model",
                     last_part(call->model), "work", last_part(call->work), "rows");
}

static int conclude(json_t *devices)
{
    size_t index, at;
    json_t *device, *row;
    int failed = 0;
    json_array_foreach(devices, index, device)
    {
        double best[PEAK_KINDS] = {0};
        failed |= set_peaks(device, best);
        json_array_foreach(json_object_get(device, "rows"), at, row)
        {
            failed |= set_share(row, best);
        }
    }
    return failed;
}

int bench_report(const struct bench_call *call, json_t *devices)
{
    json_t *report =
        json_pack("{s:s, s:i, s:O}", "format", "clformer bench", "format_version", 1, "devices", devices);
    if (report == NULL || conclude(devices) != 0) {
        json_decref(report);
        return result_print(NULL);
    }
    int status = EXIT_DONE;
    if (call->flags.html != NULL) {
        status = bench_page_write(call->flags.html, report);
    }
    if (call->flags.json) {
        int printed = result_print(report); /* takes ownership */
        return status == EXIT_DONE ? printed : status;
    }
    if (call->flags.html == NULL ||
        strcmp(call->flags.html, "-") != 0) { /* otherwise the page goes to standard output */
        bench_table(devices);
    }
    json_decref(report);
    return status;
}

int bench_stage_page(const struct bench_call *call)
{
    struct clf_device **opened;
    int count;
    const struct flags *flags = &call->flags;
    clf_status done = clf_devices_open(&opened, &count, flags->device, &flags->device_options);
    if (done != CLF_OK) {
        return report_failure(done);
    }
    json_t *device = bench_device_object(call, clf_device_describe(opened[0]));
    clf_devices_close(opened, count);
    if (device != NULL && json_object_set(device, "rows", call->rows) != 0) {
        json_decref(device);
        device = NULL;
    }
    json_t *devices = device != NULL ? json_pack("[o]", device) : NULL;
    json_t *report = devices != NULL ? json_pack("{s:s, s:i, s:O}", "format", "clformer bench",
                                                 "format_version", 1, "devices", devices)
                                     : NULL;
    int status = EXIT_FAILED;
    if (report != NULL && conclude(devices) == 0) {
        status = bench_page_write(flags->html, report);
    } else {
        fprintf(stderr, "clformer: not enough host memory for the page\n");
    }
    json_decref(report);
    json_decref(devices);
    return status;
}
