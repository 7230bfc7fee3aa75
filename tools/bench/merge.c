/* Reads reports of other machines. They are not trusted: every value is checked before it is used. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "bench/bench.h"
#include "shared/input.h"

/* The required type of a value. Numbers must be in a range that the page can draw. */
enum wanted { TEXT, LIST, OBJECT, FROM_0, OVER_0, OVER_0_OR_NONE };
static const double smallest = 1e-30, largest = 1e30;

struct key {
    const char *name;
    enum wanted wanted;
};

static const struct key device_keys[] = {
    {"name", TEXT},    {"kind", TEXT},      {"platform", TEXT}, {"driver", TEXT},
    {"variant", TEXT}, {"clformer", TEXT},  {"date", TEXT},     {"model", TEXT},
    {"rows", LIST},    {"machine", OBJECT}, {NULL, TEXT},
};
static const struct key machine_keys[] = {
    {"processor", TEXT}, {"system", TEXT}, {"cores", FROM_0}, {"memory_bytes", FROM_0}, {NULL, TEXT},
};
static const struct key row_keys[] = {{"work", TEXT}, {"precision", TEXT}, {NULL, TEXT}};
static const struct key failed_keys[] = {{"error", TEXT}, {NULL, TEXT}};
static const struct key peak_keys[] = {
    {"fma_operations_per_second", FROM_0},
    {"int8_operations_per_second", FROM_0},
    {"bf16_operations_per_second", FROM_0},
    {"read_bytes_per_second", FROM_0},
    {NULL, TEXT},
};
static const struct key op_keys[] = {
    {"gemm", TEXT},     {"op", TEXT},           {"shape", TEXT},
    {"kernel", TEXT},   {"seconds", OVER_0},    {"best_seconds", OVER_0},
    {"spread", FROM_0}, {"operations", FROM_0}, {"bytes", OVER_0},
    {NULL, TEXT},
};
static const struct key case_keys[] = {
    {"gemm", TEXT},
    {"batch", OVER_0},
    {"beam", OVER_0},
    {"best_seconds", OVER_0_OR_NONE},
    {"seconds", OVER_0},
    {"spread", FROM_0},
    {"repeats", FROM_0},
    {"peak_bytes", FROM_0},
    {"tokens_per_second", FROM_0},
    {NULL, TEXT},
};
static const struct key start_keys[] = {
    {"seconds", OVER_0}, {"spread", FROM_0}, {"peak_bytes", FROM_0}, {NULL, TEXT}};

static int fits(const json_t *value, enum wanted wanted)
{
    double number = json_number_value(value); /* accepts integers as well */
    switch (wanted) {
    case TEXT:
        return json_is_string(value);
    case LIST:
        return json_is_array(value);
    case OBJECT:
        return json_is_object(value);
    case FROM_0:
        return json_is_number(value) && (number == 0 || (number >= smallest && number <= largest));
    case OVER_0_OR_NONE:
        return value == NULL || fits(value, OVER_0);
    default:
        return json_is_number(value) && number >= smallest && number <= largest;
    }
}

/* Completes an error message with the invalid and the expected value. */
static void report_misfit(const json_t *value, enum wanted wanted)
{
    static const char *const types[] = {"an object", "a list", "text", NULL, NULL, "true", "false", "null"};
    const char *type = value != NULL ? types[json_typeof(value)] : NULL;
    if (value == NULL) {
        fprintf(stderr, "missing\n");
        return;
    }
    type != NULL ? fprintf(stderr, "%s, not ", type) : fprintf(stderr, "%g, not ", json_number_value(value));
    if (wanted <= OBJECT) {
        fprintf(stderr, "%s\n", wanted == TEXT ? "text" : wanted == LIST ? "a list" : "an object");
    } else {
        fprintf(stderr, "a number from %s%g to %g\n", wanted == FROM_0 ? "0 or " : "", smallest, largest);
    }
}

/* Checks the values of an object. Returns an exit status; an error message names the file and the key in
 * `place`. */
static int check_keys(const char *path, const char *place, const json_t *object, const struct key *keys)
{
    if (!json_is_object(object)) {
        fprintf(stderr, "clformer: %s: %s is not an object\n", path, place);
        return EXIT_FAILED;
    }
    for (; keys->name != NULL; keys++) {
        const json_t *value = json_object_get(object, keys->name);
        if (!fits(value, keys->wanted)) {
            fprintf(stderr, "clformer: %s: %s.%s is ", path, place, keys->name);
            report_misfit(value, keys->wanted);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

static int check_row(const char *path, const char *place, const json_t *row)
{
    if (check_keys(path, place, row, row_keys) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    const char *work = bench_text(row, "work");
    const struct key *keys = case_keys;
    if (json_object_get(row, "error") != NULL) {
        keys = failed_keys;
    } else if (strcmp(work, "peaks") == 0) {
        keys = peak_keys;
    } else if (strcmp(work, "op") == 0) {
        keys = op_keys;
    } else if (strcmp(work, "start") == 0 || strcmp(work, "first start") == 0) {
        keys = start_keys;
    }
    return check_keys(path, place, row, keys);
}

static int check_device(const char *path, size_t index, const json_t *device)
{
    char place[64];
    snprintf(place, sizeof place, "devices[%zu]", index);
    if (check_keys(path, place, device, device_keys) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    snprintf(place, sizeof place, "devices[%zu].machine", index);
    int status = check_keys(path, place, json_object_get(device, "machine"), machine_keys);
    size_t at;
    json_t *row;
    json_array_foreach(json_object_get(device, "rows"), at, row)
    {
        snprintf(place, sizeof place, "devices[%zu].rows[%zu]", index, at);
        if (status == EXIT_DONE) {
            status = check_row(path, place, row);
        }
    }
    return status;
}

static int check_report(const char *path, const json_t *report)
{
    const char *format = json_string_value(json_object_get(report, "format"));
    const json_t *version = json_object_get(report, "format_version");
    if (format == NULL || strcmp(format, "clformer bench") != 0) {
        fprintf(
            stderr,
            "clformer: %s: \"format\" is not \"clformer bench\"; this is not a report from `clformer bench "
            "--json`\n",
            path);
        return EXIT_FAILED;
    }
    if (!json_is_integer(version) || json_integer_value(version) != 1) {
        fprintf(
            stderr,
            "clformer: %s: \"format_version\" is not 1; use the version of clformer that wrote this report\n",
            path);
        return EXIT_FAILED;
    }
    if (!json_is_array(json_object_get(report, "devices"))) {
        fprintf(stderr, "clformer: %s: \"devices\" is not a list\n", path);
        return EXIT_FAILED;
    }
    if (json_array_size(json_object_get(report, "devices")) == 0) {
        fprintf(stderr, "clformer: %s: \"devices\" is empty; nothing was measured\n", path);
        return EXIT_FAILED;
    }
    size_t index;
    json_t *device;
    json_array_foreach(json_object_get(report, "devices"), index, device)
    {
        if (check_device(path, index, device) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

/* Returns 1 if an earlier report has the same device, measured at the same time. */
static int is_known(const json_t *devices, const json_t *device)
{
    static const char *const keys[] = {"date", "name", "platform", "driver", "machine"};
    size_t index;
    json_t *other;
    json_array_foreach(devices, index, other)
    {
        int same = 1;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            same &= json_equal(json_object_get(other, keys[i]), json_object_get(device, keys[i]));
        }
        if (same) {
            return 1;
        }
    }
    return 0;
}

/* Appends the devices of a checked report. */
static int add_devices(json_t *devices, const char *name, json_t *report, int is_quiet)
{
    size_t index;
    json_t *device;
    json_array_foreach(json_object_get(report, "devices"), index, device)
    {
        if (is_known(devices, device) && !is_quiet) {
            fprintf(
                stderr,
                "clformer: warning: %s: %s, measured %s, is also in an earlier report and is listed twice\n",
                name, bench_text(device, "name"), bench_text(device, "date"));
        }
        if (json_array_append(devices, device) != 0) {
            fprintf(stderr, "clformer: out of memory\n");
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

static const struct clf__json_limits limits = {1 << 24,
                                               1 << 20}; /* a report of two devices is about 200 KB */

/* Reads JSON; returns NULL after reporting a failure. */
static json_t *read_json(const char *path, const char *name)
{
    char *text;
    size_t size;
    if (input_read_all(&text, &size, path, limits.bytes) != EXIT_DONE) {
        return NULL;
    }
    json_t *report;
    clf_status status = clf__json_parse(&report, text, size, name, limits);
    free(text);
    if (status != CLF_OK) {
        report_failure(status);
    }
    return report;
}

/* Appends the devices of one file. Returns an exit status. */
static int add_file(json_t *devices, const char *path, int is_quiet)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    json_t *report = read_json(path, name);
    if (report == NULL) {
        return EXIT_FAILED;
    }
    int status = check_report(name, report);
    if (status == EXIT_DONE) {
        status = add_devices(devices, name, report, is_quiet);
    }
    json_decref(report);
    return status;
}

int bench_merge_run(struct bench_call *call)
{
    json_t *devices = json_array();
    int status = devices != NULL ? EXIT_DONE : EXIT_FAILED;
    for (int i = 0; i < call->flags.operand_count && status == EXIT_DONE; i++) {
        status = add_file(devices, call->flags.operands[i], call->flags.quiet);
    }
    if (status == EXIT_DONE) {
        status = bench_report(call, devices);
    }
    json_decref(devices);
    return status;
}
