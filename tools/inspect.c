/* clformer inspect */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "shared/command.h"

static const char help[] =
    "Usage: clformer inspect MODEL [--json]\n"
    "\n"
    "Shows the configuration, tensors, tokenizer and generation defaults of a model, and anything unusual\n"
    "about them. No device is needed. For a model that clformer cannot run, inspect shows the\n"
    "configuration, the tensors and the reason, and the exit status is 1.\n"
    "\n"
    "Example:\n"
    "  $ clformer inspect tools/models/fr-en-small\n"
    "  $ clformer inspect --json tools/models/fr-en-small | jq '.unusual'\n";

enum { VALUE_COLUMN = 36, LINE_WIDTH = 100 };

/* Prints a list of words, wrapped with a hanging indent. */
static void print_words(const json_t *words)
{
    int column = VALUE_COLUMN;
    size_t index;
    json_t *word;
    json_array_foreach(words, index, word)
    {
        int length = (int)json_string_length(word);
        if (index > 0 && column + 1 + length > LINE_WIDTH) {
            printf("\n%*s", (int)VALUE_COLUMN, "");
            column = VALUE_COLUMN;
        } else if (index > 0) {
            printf(" ");
            column++;
        }
        printf("%s", json_string_value(word));
        column += length;
    }
    printf("%s", index == 0 ? "none" : "");
}

static int is_words(const json_t *value)
{
    size_t index;
    json_t *word;
    json_array_foreach(value, index, word)
    {
        if (!json_is_string(word)) {
            return 0;
        }
    }
    return json_is_array(value);
}

static void print_value(const json_t *value)
{
    if (json_is_string(value)) {
        printf("%s", json_string_value(value));
    } else if (json_is_real(value)) {
        printf("%.6g", json_real_value(value));
    } else {
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    }
}

static void print_object(const char *title, const json_t *object)
{
    const char *key;
    json_t *value;
    printf("\n%s\n", title);
    json_object_foreach((json_t *)object, key, value)
    {
        printf("  %-32s  ", key);
        if (is_words(value)) {
            print_words(value);
        } else {
            print_value(value);
        }
        printf("\n");
    }
}

/* "(512, 2048)" */
static void write_shape(char *text, size_t size, const json_t *shape)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (size_t i = 0; i < json_array_size(shape) && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%" JSON_INTEGER_FORMAT, i > 0 ? ", " : "",
                                 json_integer_value(json_array_get(shape, i)));
    }
    if (used < size) {
        snprintf(text + used, size - used, ")");
    }
}

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int can_run(const json_t *model)
{
    return json_is_null(json_object_get(model, "cannot_run"));
}

static void print_statistic(const json_t *tensor, const char *key)
{
    const json_t *value = json_object_get(tensor, key);
    if (json_is_number(value)) {
        printf("  %10.4g", json_number_value(value));
    } else {
        printf("  %10s", "none");
    }
}

static int widest_name(const json_t *tensors)
{
    size_t widest = strlen("name"), index;
    json_t *tensor;
    json_array_foreach(tensors, index, tensor)
    {
        size_t length = strlen(string_of(tensor, "name"));
        widest = length > widest ? length : widest;
    }
    return (int)widest;
}

/* Prints the tensors, with the range of their values if it is known. */
static void print_tensors(const json_t *tensors, int has_values)
{
    int width = widest_name(tensors);
    size_t index;
    json_t *tensor;
    if (has_values) {
        printf("\nTensors\n  %-*s  %-5s %-14s  %10s  %10s  %10s  stored as\n", width, "name", "type", "shape",
               "minimum", "maximum", "mean");
    } else {
        printf("\nTensors\n  %-*s  %-5s shape\n", width, "name", "type");
    }
    json_array_foreach(tensors, index, tensor)
    {
        char shape[192];
        write_shape(shape, sizeof shape, json_object_get(tensor, "shape"));
        const char *name = string_of(tensor, "name"), *stored = string_of(tensor, "stored_name");
        printf("  %-*s  %-5s %-*s", width, name, string_of(tensor, "type"), has_values ? 14 : 0, shape);
        if (has_values) {
            print_statistic(tensor, "minimum");
            print_statistic(tensor, "maximum");
            print_statistic(tensor, "mean");
        }
        printf("%s%s\n", strcmp(name, stored) == 0 ? "" : "  ", strcmp(name, stored) == 0 ? "" : stored);
    }
}

/* Prints the prefix and the decoding defaults of each task, if the model has tasks. */
static void print_tasks(json_t *tasks)
{
    const char *name;
    json_t *task;
    if (json_object_size(tasks) > 0) {
        printf("\nTasks (--task)\n");
    }
    json_object_foreach(tasks, name, task)
    {
        char *text = json_dumps(task, JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY);
        printf("  %s  %s\n", name, text != NULL ? text : "");
        free(text);
    }
}

static void print_unusual(const json_t *unusual)
{
    size_t index;
    json_t *sentence;
    printf("\nUnusual\n");
    json_array_foreach(unusual, index, sentence)
    {
        printf("  %s\n", json_string_value(sentence));
    }
    if (json_array_size(unusual) == 0) {
        printf("  nothing\n");
    }
}

static void print_member(const char *title, const json_t *model, const char *key)
{
    const json_t *value = json_object_get(model, key);
    if (value != NULL) {
        printf("%-12s  ", title);
        print_value(value);
        printf("\n");
    }
}

static int print_text(const char *text)
{
    json_t *model = json_loads(text, 0, NULL);
    if (model == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the description of the model\n");
        return EXIT_FAILED;
    }
    const json_t *tensors = json_object_get(model, "tensors");
    printf("Folder        %s\n", string_of(model, "folder"));
    if (can_run(model)) {
        printf("Format        %s\n", string_of(model, "format"));
        printf("Architecture  %s\n", string_of(model, "architecture"));
    } else {
        print_member("Model type", model, "model_type");
        print_member("Classes", model, "architectures");
    }
    printf("Parameters    %" JSON_INTEGER_FORMAT " in %zu tensors, %.1f MB stored\n",
           json_integer_value(json_object_get(model, "parameters")), json_array_size(tensors),
           1e-6 * json_number_value(json_object_get(model, "bytes")));
    print_object("Configuration", json_object_get(model, "configuration"));
    if (can_run(model)) {
        print_object("Generation (-1: not set)", json_object_get(model, "generation"));
        print_tasks(json_object_get(model, "tasks"));
        print_object("Tokenizer", json_object_get(model, "tokenizer"));
    }
    print_tensors(tensors, can_run(model));
    print_unusual(json_object_get(model, "unusual"));
    json_decref(model);
    return EXIT_DONE;
}

int verb_inspect(int argc, char **argv)
{
    struct flags flags;
    int status = flags_parse(&flags, argc, argv, TAKES_JSON, help);
    if (status < 0) {
        status = flags_operands(&flags, 1, 1, "inspect takes one model");
    }
    if (status >= 0) {
        return status;
    }
    log_to_stderr(&flags);
    status = EXIT_DONE;
    char *text;
    clf_status inspected = clf_inspect(&text, flags.operands[0]);
    if (text == NULL) {
        return report_failure(inspected);
    }
    if (flags.json) {
        printf("%s\n", text);
    } else {
        status = print_text(text);
    }
    clf_string_free(text);
    if (status == EXIT_DONE &&
        inspected != CLF_OK) { /* the model cannot run; the reason is printed after the description */
        fflush(stdout);
        status = report_failure(inspected);
    }
    return status;
}
