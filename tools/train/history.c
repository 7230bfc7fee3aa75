#include "train/history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "shared/command.h"
#include "shared/input.h"

/* Limits for endless pipes, larger than any log. A line contains an update, and may contain the recipe of the
 * run or a validation with samples. */
enum { MOST_LINE_BYTES = 1 << 24, MOST_BYTES = 1 << 30 };
static const struct clf__json_limits line_limits = {MOST_LINE_BYTES, 1 << 16};
static const size_t most_kept_values =
    1 << 20; /* maximum number of values in the starts and validations of one log */

static int64_t count_of(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

static double number_of(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Removes `update` and all later updates, which a resumed run repeats. */
static void go_back(struct train_history *history, int64_t update)
{
    while (history->count > 0 && history->points[history->count - 1].update >= update) {
        history->count--;
    }
    for (size_t i = json_array_size(history->validations); i > 0; i--) {
        const json_t *last = json_array_get(history->validations, i - 1);
        if (count_of(last, "update") < update) {
            break;
        }
        json_array_remove(history->validations, i - 1);
    }
}

static int append(struct train_history *history, const struct clf_train_update *point)
{
    if (history->count == history->capacity) {
        size_t capacity = history->capacity > 0 ? 2 * history->capacity : 1024;
        struct clf_train_update *points = realloc(history->points, capacity * sizeof *points);
        if (points == NULL) {
            return 0;
        }
        history->points = points;
        history->capacity = capacity;
    }
    history->points[history->count++] = *point;
    return 1;
}

/* Adds the start or validation of a line. */
static int add_objects(struct train_history *history, json_t *line, int64_t update, int epoch)
{
    json_t *start = json_object_get(line, "start"), *validation = json_object_get(line, "validation");
    if (json_is_object(start)) {
        json_decref(history->start);
        history->start = json_incref(start);
    }
    if (!json_is_object(validation)) {
        return 1;
    }
    if (history->validations == NULL) {
        history->validations = json_array();
    }
    json_t *copy = json_copy(validation);
    int added = json_object_set_new(copy, "update", json_integer(update)) == 0 &&
                json_object_set_new(copy, "epoch", json_integer(epoch)) == 0 &&
                json_array_append(history->validations, copy) == 0;
    json_decref(copy);
    return added;
}

int history_add(struct train_history *history, json_t *line, const char *place)
{
    const json_t *update = json_object_get(line, "update");
    if (!json_is_integer(update) || json_integer_value(update) < 1 || json_object_get(line, "loss") == NULL) {
        fprintf(stderr,
                "clformer: %s: has no \"update\" or no \"loss\"; this is not a log from `clformer train`\n",
                place);
        return EXIT_FAILED;
    }
    struct clf_train_update point = {
        .update = json_integer_value(update),
        .epoch = (int)count_of(line, "epoch"),
        .loss = number_of(line, "loss"),
        .nll = number_of(line, "nll"),
        .learning_rate = number_of(line, "learning_rate"),
        .gradient_norm = number_of(line, "gradient_norm"),
        .seconds = number_of(line, "seconds"),
        .waited = number_of(line, "waited"),
        .source_tokens = count_of(line, "source_tokens"),
        .target_tokens = count_of(line, "target_tokens"),
        .skipped = count_of(line, "skipped"),
    };
    go_back(history, point.update);
    if (!append(history, &point) || !add_objects(history, line, point.update, point.epoch)) {
        fprintf(stderr, "clformer: not enough host memory for the curves of %s\n", history->name);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int history_ends_before(const struct train_history *history, const json_t *line)
{
    const json_t *start = json_object_get(line, "start");
    if (!json_is_object(start) || history->count == 0) {
        return 0;
    }
    return count_of(start, "first_update") == 1 ||
           (history->start != NULL &&
            !json_equal(json_object_get(start, "output"), json_object_get(history->start, "output")));
}

/* The runs of one log, appended to the runs of earlier logs. */
struct reading {
    struct train_history **runs;
    int *count, first;
    const char *path;
    size_t kept_values; /* number of values in the starts and validations so far */
};

/* Returns the run of a line, adding it if needed; NULL if out of memory. */
static struct train_history *find_run(struct reading *reading, const json_t *line)
{
    struct train_history *last = *reading->count > 0 ? &(*reading->runs)[*reading->count - 1] : NULL;
    if (*reading->count > reading->first && !history_ends_before(last, line)) {
        return last;
    }
    struct train_history *runs = realloc(*reading->runs, ((size_t)*reading->count + 1) * sizeof *runs);
    if (runs == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the curves of %s\n", reading->path);
        return NULL;
    }
    *reading->runs = runs;
    runs[*reading->count] = (struct train_history){.name = reading->path};
    return &runs[(*reading->count)++];
}

static void name_runs(const struct reading *reading)
{
    for (int i = reading->first; *reading->count - reading->first > 1 && i < *reading->count; i++) {
        struct train_history *run = &(*reading->runs)[i];
        const char *output = json_string_value(json_object_get(run->start, "output"));
        run->name = output != NULL ? output : run->name;
    }
}

/* Counts the numbers, strings, lists and objects in a value, including the value itself; 0 for NULL. */
static size_t count_values(const json_t *value)
{
    size_t count = value != NULL;
    const char *key;
    json_t *item;
    for (size_t i = 0; i < json_array_size(value); i++) {
        count += count_values(json_array_get(value, i));
    }
    json_object_foreach((json_t *)value, key, item)
    {
        count += count_values(item);
    }
    return count;
}

/* Limits the memory for a log with many lines. */
static int check_kept(struct reading *reading, const json_t *line, const char *place)
{
    reading->kept_values +=
        count_values(json_object_get(line, "start")) + count_values(json_object_get(line, "validation"));
    if (reading->kept_values <= most_kept_values) {
        return EXIT_DONE;
    }
    fprintf(stderr,
            "clformer: %s: starts and validations exceed %zu values at this line; this is not a "
            "log of `clformer train`\n",
            place, most_kept_values);
    return EXIT_FAILED;
}

/* Reads one line of the file. */
static int read_line(struct reading *reading, const char *text, size_t size, const char *place)
{
    json_t *line;
    if (clf__json_parse(&line, text, size, place, line_limits) != CLF_OK) {
        fprintf(stderr, "clformer: %s; this is not a log from `clformer train`\n", clf_last_error());
        return EXIT_FAILED;
    }
    int status = check_kept(reading, line, place);
    struct train_history *run = status == EXIT_DONE ? find_run(reading, line) : NULL;
    status = run != NULL ? history_add(run, line, place) : EXIT_FAILED;
    json_decref(line);
    return status;
}

static int read_lines(struct reading *reading, FILE *file, char **text)
{
    size_t capacity = 0, place_size = strlen(reading->path) + 32;
    char *place = malloc(place_size);
    int status = place != NULL ? EXIT_DONE : EXIT_FAILED;
    long long size, bytes = 0;
    for (long long number = 1; status == EXIT_DONE && !signals_interrupted(NULL) &&
                               (size = input_read_line(text, &capacity, file, MOST_LINE_BYTES)) != 0;
         number++) {
        bytes += size;
        if (size == INPUT_NO_MEMORY) {
            fprintf(stderr, "clformer: not enough host memory for the curves of %s\n", reading->path);
            status = EXIT_FAILED;
            break;
        }
        if (size < 0 || bytes > MOST_BYTES) {
            fprintf(stderr, "clformer: %s, line %lld: %s; this is not a log from `clformer train`\n",
                    reading->path, number,
                    size < 0 ? "has more than 16777216 bytes" : "the log exceeds 1 GiB at this line");
            status = EXIT_FAILED;
            break;
        }
        if ((*text)[size - 1] != '\n') {
            break; /* truncated, or still being written */
        }
        snprintf(place, place_size, "%s, line %lld", reading->path, number);
        status = read_line(reading, *text, (size_t)size, place);
    }
    free(place);
    return status;
}

int history_read(struct train_history **runs, int *count, const char *path)
{
    struct reading reading = {runs, count, *count, path, 0};
    FILE *file = input_open(path);
    if (file == NULL) {
        return EXIT_FAILED;
    }
    char *text = NULL;
    int status = read_lines(&reading, file, &text);
    if (status == EXIT_DONE && signals_interrupted(NULL)) {
        status = report_interrupted();
    } else if (status == EXIT_DONE && ferror(file)) {
        fprintf(stderr, "clformer: %s: cannot be read: %s\n", path, strerror(errno));
        status = EXIT_FAILED;
    }
    name_runs(&reading);
    free(text);
    fclose(file);
    return status;
}

const struct clf_train_update *history_find(const struct train_history *history, int64_t update)
{
    for (size_t i = history->count; i > 0 && history->points[i - 1].update >= update; i--) {
        if (history->points[i - 1].update == update) {
            return &history->points[i - 1];
        }
    }
    return NULL;
}

void history_free(struct train_history *history)
{
    json_decref(history->start);
    json_decref(history->validations);
    free(history->points);
    *history = (struct train_history){.name = NULL};
}
