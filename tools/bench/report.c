#include <string.h>

#include "bench/bench.h"
#include "shared/results.h"

static const char *const peaks[] = {"fma_operations_per_second", "int8_operations_per_second",
                                    "bf16_operations_per_second", "read_bytes_per_second"};
enum { PEAKS = sizeof peaks / sizeof *peaks, FMA = 0, INT8, BF16, READ };

/* The best that any process measured: other work on the machine only lowers a peak. */
static int set_peaks(json_t *device, double best[PEAKS])
{
    json_t *object = json_object();
    size_t index;
    json_t *row;
    int failed = object == NULL;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        for (int i = 0; i < PEAKS && strcmp(bench_text(row, "work"), "peaks") == 0; i++) {
            double value = bench_number(row, peaks[i]);
            best[i] = value > best[i] ? value : best[i];
        }
    }
    for (int i = 0; i < PEAKS && !failed; i++) {
        failed = json_object_set_new(object, peaks[i], json_real(best[i])) != 0;
    }
    return json_object_set_new(device, "peaks", object) != 0 || failed;
}

/* The share of what the device can do at best: its time for the arithmetic, or for the reading, whichever is
 * longer, by the time that the op took. More than 1 is possible where the operands lay in a cache. */
static int set_share(json_t *row, const double best[PEAKS])
{
    double seconds = bench_number(row, "best_seconds"), arithmetic = best[FMA];
    json_object_del(row, "share"); /* of a report that is merged: by peaks that it may have had */
    json_object_del(row, "bound");
    if (strcmp(bench_text(row, "work"), "op") != 0 || !(seconds > 0) || !(best[FMA] > 0) ||
        !(best[READ] > 0)) {
        return 0;
    }
    if (json_is_true(json_object_get(row, "by_weights"))) {
        int own = strcmp(bench_text(row, "precision"), "int8") == 0   ? INT8
                  : strcmp(bench_text(row, "precision"), "bf16") == 0 ? BF16
                                                                      : FMA;
        arithmetic = best[own] > 0 ? best[own] : best[FMA];
    }
    double computing = bench_number(row, "operations") / arithmetic;
    double reading = bench_number(row, "bytes") / best[READ];
    double least = computing > reading ? computing : reading;
    return json_object_set_new(row, "share", json_real(least / seconds)) != 0 ||
           json_object_set_new(row, "bound", json_string(computing > reading ? "arithmetic" : "reading")) !=
               0;
}

static int conclude(json_t *devices)
{
    size_t index, at;
    json_t *device, *row;
    int failed = 0;
    json_array_foreach(devices, index, device)
    {
        double best[PEAKS] = {0};
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
        int printed = result_print(report); /* takes it */
        return status == EXIT_DONE ? printed : status;
    }
    if (call->flags.html == NULL || strcmp(call->flags.html, "-") != 0) { /* else the page has the output */
        bench_table(devices);
    }
    json_decref(report);
    return status;
}
