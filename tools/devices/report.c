#include "devices/report.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "bench/bench.h"
#include "open/check.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"
#include "runtime/opencl/report.h"
#include "runtime/program/launch.h"
#include "runtime/program/report.h"
#include "runtime/tuning/levels.h"
#include "shared/command.h"
#include "shared/peaks.h"

/* Returns a JSON string, "" if the text is not UTF-8. */
static json_t *text_of(const char *text)
{
    json_t *string = json_string(text);
    return string != NULL ? string : json_string("");
}

static clf_status add_fact(void *user, const char *name, const char *value)
{
    json_object_set_new(user, name, text_of(value));
    return CLF_OK;
}

static clf_status add_kernel(void *user, const struct clf__kernel_report *kernel)
{
    json_array_append_new(user, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:o}", "program",
                                          kernel->program, "defines", kernel->defines, "kernel",
                                          kernel->kernel, "work_group_size", (json_int_t)kernel->most_items,
                                          "preferred_multiple", (json_int_t)kernel->multiple, "local_bytes",
                                          (json_int_t)kernel->local_bytes, "private_bytes",
                                          (json_int_t)kernel->private_bytes, "build_seconds",
                                          kernel->build_seconds, "build_log", text_of(kernel->log)));
    return CLF_OK;
}

/* Adds the first line of a system file, or the last component of a link's target. */
static void add_file(json_t *object, const char *path)
{
    char line[512] = "";
    ssize_t length = readlink(path, line, sizeof line - 1);
    if (length > 0) {
        line[length] = '\0';
        const char *slash = strrchr(line, '/');
        json_object_set_new(object, path, text_of(slash != NULL ? slash + 1 : line));
        return;
    }
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        json_object_set_new(object, path, text_of(line));
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Lists the kernel modules of the cards and the time limit after which they reset a card. */
static json_t *list_modules(void)
{
    static const char *const patterns[] = {
        "/sys/class/drm/card[0-9]/device/vendor",
        "/sys/class/drm/card[0-9]/device/device",
        "/sys/class/drm/card[0-9]/device/driver",
        "/sys/class/drm/card[0-9]/engine/*/heartbeat_interval_ms",
        "/sys/class/drm/card[0-9]/engine/*/preempt_timeout_ms",
        "/sys/class/drm/card[0-9]/device/tile*/gt*/engines/*/job_timeout_ms",
        "/sys/module/amdgpu/parameters/lockup_timeout",
        "/sys/module/i915/parameters/enable_hangcheck",
        "/sys/module/nvidia/version",
        "/sys/module/amdgpu/version",
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found = {.gl_pathc = 0};
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++) {
                add_file(object, found.gl_pathv[j]);
            }
        }
        globfree(&found);
    }
    return object;
}

/* Runs a kernel of cl/device/peak.cl in one work-group. */
static clf_status run(struct clf_device *device, const struct clf__buffer *sums, int rounds)
{
    const struct clf__argument arguments[] = {CLF__BUFFER(sums), CLF__INT(rounds), CLF__FLOAT(0.5f)};
    const struct clf__launch launch = {
        .program = "peak", CLF__GRIDS("peak_fma", 1), CLF__ARGUMENTS(arguments)};
    return clf__launch(device, &launch);
}

/* Measures, on the host, the time per small launch until the launch is enqueued and until it has finished. */
static clf_status time_launches(json_t *object, const char *name, struct clf_device *device,
                                const struct clf__buffer *sums, unsigned without)
{
    enum { LAUNCHES = 512 };
    unsigned before = device->caps.without;
    device->caps.without = without;
    double begin = clf__seconds();
    clf_status status = CLF_OK;
    for (int i = 0; i < LAUNCHES && status == CLF_OK; i++) {
        status = run(device, sums, 1);
    }
    double enqueued = clf__seconds();
    device->caps.without = before;
    CLF__TRY(status);
    CLF__TRY(clf__device_finish(device));
    json_object_set_new(object, name,
                        json_pack("{s:f, s:f}", "enqueue_seconds", (enqueued - begin) / LAUNCHES, "seconds",
                                  (clf__seconds() - begin) / LAUNCHES));
    return CLF_OK;
}

/* Times a launch of a few hundredths of a second with the device's clock and with the host's clock. */
static clf_status compare_clocks(json_t *object, struct clf_device *device, const struct clf__buffer *sums)
{
    double wall = 0.0;
    for (int rounds = 1024; wall < 0.02 && rounds < 1 << 28; rounds *= 2) {
        CLF__TRY(clf_device_profile_reset(device));
        double begin = clf__seconds();
        CLF__TRY(run(device, sums, rounds));
        CLF__TRY(clf__device_finish(device));
        wall = clf__seconds() - begin;
    }
    const struct clf_kernel_time *times;
    int count;
    CLF__TRY(clf_device_profile(&times, &count, device));
    json_object_set_new(object, "clocks",
                        json_pack("{s:f, s:f, s:b}", "host_seconds", wall, "device_seconds",
                                  count > 0 ? times[0].seconds : 0.0, "discarded",
                                  count > 0 && times[0].discarded > 0));
    return clf_device_profile_reset(device);
}

static clf_status measure_launches(json_t *object, struct clf_device *device)
{
    struct clf__buffer *sums = NULL;
    CLF__TRY(clf__buffer_create(&sums, device, CLF__GROUP * sizeof(float), "the report's sums"));
    json_t *launches = json_object();
    clf_status status = run(device, sums, 1); /* some drivers compile at the first launch */
    if (status == CLF_OK) {
        status = time_launches(launches, "usual", device, sums, 0);
    }
    if (status == CLF_OK) {
        status = time_launches(launches, "without_flush", device, sums, CLF__WITHOUT_FLUSH);
    }
    if (status == CLF_OK) {
        status = time_launches(launches, "without_arguments", device, sums, CLF__WITHOUT_ARGUMENTS);
    }
    if (status == CLF_OK) {
        status = compare_clocks(launches, device, sums);
    }
    json_object_set_new(object, "launches", launches);
    clf__buffer_free(sums);
    return status;
}

static clf_status measure_peaks(json_t *object, struct clf_device *device)
{
    const struct clf_device_peaks *peaks;
    CLF__TRY(clf_device_measure_peaks(&peaks, device));
    json_object_set_new(object, "peaks", peaks_object(peaks));
    return CLF_OK;
}

/* Adds "passed", or the message of the failure. */
static void add_result(json_t *object, const char *name, clf_status status)
{
    json_object_set_new(object, name, text_of(status == CLF_OK ? "passed" : clf_last_error()));
}

json_t *trials_array(const struct clf_device *device)
{
    json_t *array = json_array();
    for (int i = 0; i < device->trials.count; i++) {
        const struct clf__level_trial *trial = &device->trials.trials[i];
        json_t *object = json_pack("{s:s, s:b, s:b}", "level", clf__level_words[trial->level], "used",
                                   clf__level_trial_is_used(trial), "used_in_int8",
                                   clf__level_trial_is_used(trial) && clf__level_trial_serves_int8(trial));
        if (trial->failure[0] != '\0') {
            add_fact(object, "failure", trial->failure);
        } else {
            json_t *rates =
                json_pack("{s:f, s:f, s:f, s:f}", "fp16", trial->rates[CLF__TRIAL_FP16], "fp16_without",
                          trial->plain_rates[CLF__TRIAL_FP16], "int8", trial->rates[CLF__TRIAL_INT8],
                          "int8_without", trial->plain_rates[CLF__TRIAL_INT8]);
            json_object_set_new(object, "operations_per_second", rates);
        }
        json_array_append_new(array, object);
    }
    return array;
}

/* Runs all measurements on an open device, even if one of them fails. */
static void measure(json_t *object, struct clf_device *device)
{
    int is_lasting = 0;
    json_object_set_new(object, "variant",
                        json_string(device->caps.variant == CLF_VARIANT_CPU ? "cpu" : "gpu"));
    json_object_set_new(object, "instructions", json_string(clf__level_words[device->caps.level->name]));
    json_object_set_new(object, "matrix_levels", trials_array(device));
    add_fact(object, "barriers_without_atomics", clf__barrier_trial_describe(&device->barrier_trial));
    json_object_set_new(object, "build_options", text_of(device->build_options));
    json_object_set_new(object, "usable_bytes", json_integer((json_int_t)device->caps.usable_bytes));
    add_result(object, "check", clf__check_kernels(device, &is_lasting));
    add_result(object, "launches_measured", measure_launches(object, device));
    add_result(object, "peaks_measured", measure_peaks(object, device));
    json_t *kernels = json_array();
    add_result(object, "kernels_listed", clf__program_report(device, add_kernel, kernels));
    json_object_set_new(object, "kernels", kernels);
}

static json_t *report_device(const struct clf__listed_device *listed)
{
    const struct clf_device_info *info = &listed->info;
    json_t *object = json_object(), *limits = json_object();
    json_object_set_new(object, "index", json_integer(info->index));
    add_fact(object, "name", info->name);
    add_fact(object, "vendor", info->vendor);
    add_fact(object, "version", info->version);
    add_fact(object, "driver", info->driver);
    add_fact(object, "platform", info->platform_name);
    add_fact(object, "platform_version", info->platform_version);
    add_fact(object, "pci_address", info->pci_address);
    json_object_set_new(object, "candidate_order", json_integer(info->candidate_order));
    add_fact(object, "order_reason", info->order_reason);
    add_result(object, "limits_listed", clf__listed_device_report(listed, add_fact, limits));
    json_object_set_new(object, "limits", limits);
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    char selector[16];
    options.use_program_cache = 0; /* builds are timed */
    options.profile = 1;
    snprintf(selector, sizeof selector, "%d", info->index);
    clf_status status = clf_device_open(&device, selector, &options);
    add_result(object, "opened", status);
    if (status == CLF_OK) {
        measure(object, device);
        clf_device_close(device);
    }
    return object;
}

int report_devices(const struct clf_device_list *list)
{
    const char *without = clf__environment_value("CLFORMER_WITHOUT");
    json_t *devices = json_array();
    for (int i = 0; i < list->count; i++) {
        json_array_append_new(devices, report_device(&list->devices[i]));
    }
    json_t *report = json_pack("{s:s, s:o, s:o, s:s, s:o}", "clformer", CLF_VERSION_STRING, "machine",
                               bench_machine(), "kernel_modules", list_modules(), "without",
                               without != NULL ? without : "", "devices", devices);
    if (report == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the report\n");
        return EXIT_FAILED;
    }
    json_dumpf(report, stdout, JSON_INDENT(1));
    printf("\n");
    json_decref(report);
    return EXIT_DONE;
}
