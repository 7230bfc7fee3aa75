/* Prints the times of kernels and stages for --verbose. */
#include <string.h>

#include "shared/command.h"
#include "shared/peaks.h"

enum { MOST_ROWS = 20, NAME_WIDTH = 32 };

/* Prints operations and bytes per second and, if the peaks are known, the larger of the two fractions of the
 * peaks. */
static void print_rates(const struct clf_kernel_time *time, const struct clf_device_peaks *peaks)
{
    double operations = time->operations / time->seconds, bytes = time->bytes / time->seconds;
    fprintf(stderr, " %9.1f %7.1f", 1e-9 * operations, 1e-9 * bytes);
    if (!(peaks->read_bytes > 0.0)) {
        return;
    }
    double arithmetic = operations / peak_operations(peaks, time->precision),
           reading = bytes / peaks->read_bytes;
    fprintf(stderr, " %6.0f %% of %s", 100.0 * (arithmetic > reading ? arithmetic : reading),
            arithmetic > reading ? "arithmetic" : "reading");
}

static void print_row(const char *name, const struct clf_kernel_time *time, double total)
{
    fprintf(stderr, "  %-*s %9lld %9.3f %5.1f %%", NAME_WIDTH, name, (long long)time->launches, time->seconds,
            total > 0.0 ? 100.0 * time->seconds / total : 0.0);
}

static void print_kernel(const struct clf_kernel_time *time, double total,
                         const struct clf_device_peaks *peaks)
{
    char name[64], precision[16];
    flags_choice(precision, sizeof precision, "precision", (int)time->precision);
    int is_plain = time->precision == CLF_PRECISION_FP32;
    snprintf(name, sizeof name, "%s%s%s", time->name, is_plain ? "" : " ", is_plain ? "" : precision);
    print_row(name, time, total);
    if (time->seconds > 0.0 && time->discarded == 0 && (time->operations > 0.0 || time->bytes > 0.0)) {
        print_rates(time, peaks);
    }
    fprintf(stderr, "\n");
}

static void print_table(const struct clf_kernel_time *times, int count, const struct clf_device_peaks *peaks)
{
    double total = 0.0;
    for (int i = 0; i < count; i++) {
        total += times[i].seconds;
    }
    fprintf(stderr, "clformer: %.3f s on the device", total);
    const char *before = "; peak rates: ";
    for (int i = 0; i < PEAK_KINDS; i++) {
        double rate = peak_rate(peaks, i);
        if (rate > 0.0) {
            fprintf(stderr, "%s%.1f %s of %s", before, 1e-9 * rate, peak_kinds[i].unit, peak_kinds[i].label);
            before = ", ";
        }
    }
    fprintf(stderr, "\n  %-*s %9s %9s %7s %9s %7s %8s\n", NAME_WIDTH, "kernel", "launches", "seconds",
            "share", "GFLOP/s", "GB/s", "of peak");
    int shown = count <= MOST_ROWS ? count : MOST_ROWS - 1;
    for (int i = 0; i < shown; i++) {
        print_kernel(&times[i], total, peaks);
    }
    struct clf_kernel_time others = {.launches = 0};
    for (int i = shown; i < count; i++) {
        others.launches += times[i].launches;
        others.seconds += times[i].seconds;
    }
    if (shown < count) {
        print_row("others", &others, total);
        fprintf(stderr, "\n");
    }
    long long discarded = 0;
    for (int i = 0; i < count; i++) {
        discarded += times[i].discarded;
    }
    if (discarded > 0) {
        fprintf(
            stderr,
            "clformer: the times of %lld launches are missing because the driver reported invalid values\n",
            discarded);
    }
}

void print_stage_times(const struct clf_stage_times *times)
{
    fprintf(stderr, "clformer: tokenize %.3f s, encode %.3f s, decode %.3f s", times->tokenize, times->encode,
            times->decode);
    if (times->steps > 0) { /* scoring has no steps */
        fprintf(stderr, " in %lld steps of %.1f rows, search %.3f s, detokenize %.3f s",
                (long long)times->steps, (double)times->step_rows / (double)times->steps, times->search,
                times->detokenize);
    }
    if (times->proposed > 0) {
        fprintf(stderr, ", %lld of %lld proposed tokens accepted (%.0f%%)", (long long)times->accepted,
                (long long)times->proposed, 100.0 * (double)times->accepted / (double)times->proposed);
    }
}

int print_kernel_times(struct clf_device *device, int status)
{
    const struct clf_kernel_time *times = NULL;
    int count = 0;
    static const struct clf_device_peaks unknown = {.fma_operations = 0.0};
    const struct clf_device_peaks *peaks = &unknown;
    if (signals_interrupted(NULL)) {
        return status; /* an interrupted command ends without measurements */
    }
    clf_status done = clf_device_profile(&times, &count, device);
    if (done == CLF_OK && count > 0) {
        if (clf_device_measure_peaks(&peaks, device) != CLF_OK) {
            fprintf(stderr, "clformer: the peak rates of the device cannot be measured: %s\n",
                    clf_last_error());
            peaks = &unknown;
        }
    }
    if (done == CLF_OK && count > 0) {
        print_table(times, count, peaks);
    }
    return done == CLF_OK || status != EXIT_DONE ? status : report_failure(done);
}

int print_all_kernel_times(const struct setup *setup, int status)
{
    for (int i = 0; i < setup->count && setup->count > 1; i++) {
        const struct clf_device_info *info = clf_device_describe(setup->devices[i]);
        const struct clf_kernel_time *times;
        int count = 0;
        if (setup->models[i] != NULL && clf_device_profile(&times, &count, setup->devices[i]) == CLF_OK &&
            count > 0) {
            fprintf(stderr, "clformer: device %d \"%s\":\n", info->index, info->name);
            print_kernel_times(setup->devices[i], status);
        }
    }
    return setup->count == 1 ? print_kernel_times(setup->device, status) : status;
}
