/* Reports of other machines, read back: whatever they hold, they are checked before anything uses them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

struct key {
    const char *name;
    json_type type; /* a real may be written as an integer */
};

static const struct key device_keys[] = {
    {"name", JSON_STRING}, {"kind", JSON_STRING},     {"platform", JSON_STRING}, {"driver", JSON_STRING},
    {"form", JSON_STRING}, {"clformer", JSON_STRING}, {"date", JSON_STRING},     {"model", JSON_STRING},
    {"rows", JSON_ARRAY},  {"machine", JSON_OBJECT},  {NULL, JSON_NULL},
};
static const struct key machine_keys[] = {
    {"processor", JSON_STRING},  {"system", JSON_STRING}, {"cores", JSON_REAL},
    {"memory_bytes", JSON_REAL}, {NULL, JSON_NULL},
};
static const struct key row_keys[] = {{"work", JSON_STRING}, {"precision", JSON_STRING}, {NULL, JSON_NULL}};
static const struct key failed_keys[] = {{"error", JSON_STRING}, {NULL, JSON_NULL}};
static const struct key peak_keys[] = {
    {"fma_operations_per_second", JSON_REAL},
    {"int8_operations_per_second", JSON_REAL},
    {"bf16_operations_per_second", JSON_REAL},
    {"read_bytes_per_second", JSON_REAL},
    {NULL, JSON_NULL},
};
static const struct key op_keys[] = {
    {"gemm", JSON_STRING},  {"op", JSON_STRING},         {"shape", JSON_STRING}, {"kernel", JSON_STRING},
    {"seconds", JSON_REAL}, {"best_seconds", JSON_REAL}, {"spread", JSON_REAL},  {"operations", JSON_REAL},
    {"bytes", JSON_REAL},   {NULL, JSON_NULL},
};
static const struct key case_keys[] = {
    {"gemm", JSON_STRING},     {"batch", JSON_REAL},
    {"beam", JSON_REAL},       {"seconds", JSON_REAL},
    {"spread", JSON_REAL},     {"repeats", JSON_REAL},
    {"peak_bytes", JSON_REAL}, {"tokens_per_second", JSON_REAL},
    {NULL, JSON_NULL},
};
static const struct key start_keys[] = {
    {"seconds", JSON_REAL}, {"spread", JSON_REAL}, {"peak_bytes", JSON_REAL}, {NULL, JSON_NULL}};

static const char *type_word(json_type type)
{
    return type == JSON_STRING   ? "text"
           : type == JSON_ARRAY  ? "a list"
           : type == JSON_OBJECT ? "an object"
                                 : "a number";
}

/* Returns an exit status; a failure names the file and the key, which stands in `place`. */
static int check_keys(const char *path, const char *place, const json_t *object, const struct key *keys)
{
    if (!json_is_object(object)) {
        fprintf(stderr, "clformer: %s: %s is not an object\n", path, place);
        return EXIT_FAILED;
    }
    for (; keys->name != NULL; keys++) {
        const json_t *value = json_object_get(object, keys->name);
        int fits =
            value != NULL && (keys->type == JSON_REAL ? json_is_number(value) && json_number_value(value) >= 0
                                                      : json_typeof(value) == keys->type);
        if (!fits) {
            fprintf(stderr, "clformer: %s: %s.%s is %s, not %s%s\n", path, place, keys->name,
                    value == NULL ? "missing" : "something else", type_word(keys->type),
                    keys->type == JSON_REAL ? " from 0 on" : "");
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
        fprintf(stderr,
                "clformer: %s: the key \"format\" is not \"clformer bench\": it is no report of `clformer "
                "bench --json`\n",
                path);
        return EXIT_FAILED;
    }
    if (!json_is_integer(version) || json_integer_value(version) != 1) {
        fprintf(stderr,
                "clformer: %s: the key \"format_version\" is not 1: another version of clformer wrote it\n",
                path);
        return EXIT_FAILED;
    }
    if (!json_is_array(json_object_get(report, "devices"))) {
        fprintf(stderr, "clformer: %s: the key \"devices\" is not a list\n", path);
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

/* Appends the devices of one file. Returns an exit status. */
static int add_file(json_t *devices, const char *path)
{
    json_error_t error;
    json_t *report = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (report == NULL) {
        if (error.line > 0) {
            fprintf(stderr, "clformer: %s, line %d: %s\n", path, error.line, error.text);
        } else {
            fprintf(stderr, "clformer: %s: %s\n", path, error.text);
        }
        return EXIT_FAILED;
    }
    int status = check_report(path, report);
    if (status == EXIT_DONE && json_array_extend(devices, json_object_get(report, "devices")) != 0) {
        fprintf(stderr, "clformer: no memory left\n");
        status = EXIT_FAILED;
    }
    json_decref(report);
    return status;
}

int bench_merge_run(struct bench_call *call)
{
    json_t *devices = json_array();
    int status = devices != NULL ? EXIT_DONE : EXIT_FAILED;
    for (int i = 0; i < call->flags.operand_count && status == EXIT_DONE; i++) {
        status = add_file(devices, call->flags.operands[i]);
    }
    if (status == EXIT_DONE) {
        status = bench_report(call, devices);
    }
    json_decref(devices);
    return status;
}
