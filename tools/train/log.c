#include "train/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/input.h"
#include "shared/results.h"

static json_t *text_of(const char *text)
{
    return text != NULL ? result_text(text, strlen(text)) : json_null();
}

/* Returns the current time in UTC. */
static json_t *time_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

json_t *log_start(const struct clf_train_start *start, const char *device, const char *output)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:i}", "time",
                     time_now(), "clformer", CLF_VERSION_STRING, "device", text_of(device), "output",
                     text_of(output), "parameters", (json_int_t)start->parameters, "lines", start->lines,
                     "pairs", start->pairs, "left_out_empty", start->left_out_empty, "left_out_long",
                     start->left_out_long, "left_out_broken", start->left_out_broken, "validation_pairs",
                     start->validation_pairs, "first_update", (json_int_t)start->first_update, "max_updates",
                     (json_int_t)start->max_updates, "device_bytes", (json_int_t)start->device_bytes, "ranks",
                     start->ranks);
}

json_t *log_update(const struct clf_train_update *update, json_t *start)
{
    json_t *line = json_pack(
        "{s:I, s:i, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:I}", "update", (json_int_t)update->update,
        "epoch", update->epoch, "loss", result_number(update->loss), "nll", result_number(update->nll),
        "learning_rate", result_number(update->learning_rate), "gradient_norm",
        result_number(update->gradient_norm), "source_tokens", (json_int_t)update->source_tokens,
        "target_tokens", (json_int_t)update->target_tokens, "seconds", result_number(update->seconds),
        "waited", result_number(update->waited), "skipped", (json_int_t)update->skipped);
    if (line != NULL && start != NULL && json_object_set(line, "start", start) != 0) {
        json_decref(line);
        return NULL;
    }
    return line;
}

static json_t *samples_of(const struct clf_train_validation *validation)
{
    json_t *all = json_array();
    for (int i = 0; i < validation->sample_count; i++) {
        const struct clf_train_sample *sample = &validation->samples[i];
        all = result_append(all, json_pack("{s:o, s:o, s:o}", "source", text_of(sample->source), "reference",
                                           text_of(sample->reference), "translation",
                                           text_of(sample->translation)));
    }
    return all;
}

json_t *log_validation(const struct clf_train_validation *validation, const struct clf_train_update *update)
{
    json_t *found = json_pack(
        "{s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "loss", result_number(validation->loss), "nll",
        result_number(validation->nll), "perplexity", result_number(validation->perplexity), "bleu",
        validation->bleu >= 0 ? result_number(validation->bleu) : json_null(), "best", validation->is_best,
        "checkpoint", text_of(validation->checkpoint), "samples", samples_of(validation));
    const struct clf_train_update unknown = {.size = sizeof unknown,
                                             .update = validation->update,
                                             .epoch = validation->epoch,
                                             .loss = NAN,
                                             .nll = NAN,
                                             .learning_rate = NAN,
                                             .gradient_norm = NAN,
                                             .seconds = NAN,
                                             .waited = NAN};
    json_t *line = log_update(update != NULL ? update : &unknown, NULL);
    if (line == NULL || json_object_set_new(line, "validation", found) != 0) {
        json_decref(line);
        return NULL;
    }
    return line;
}

static int report(const char *path, const char *problem)
{
    fprintf(stderr, "clformer: %s: cannot be written: %s\n", path, problem);
    return 0;
}

/* Returns 1 if a file begins like a line of log_update(). The file may be shorter than this beginning,
 * because a run may have been killed while it wrote the first line. */
static int begins_as_log(FILE *file)
{
    static const char start[] = "{\"update\":";
    for (const char *expected = start; *expected != '\0'; expected++) {
        int byte = getc(file);
        if (byte != *expected) {
            return byte == EOF;
        }
    }
    return 1;
}

/* Truncates the file after its last newline. Returns 0 after reporting that it is not a log. */
static int cut_off(FILE *file, const char *path)
{
    struct stat status;
    int byte;
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) {
        return 1;
    }
    if (!begins_as_log(file)) {
        return report(path, "it exists and is not a log; name another file");
    }
    off_t end = status.st_size;
    while (end > 0 && fseeko(file, end - 1, SEEK_SET) == 0 && (byte = getc(file)) != '\n' && byte != EOF) {
        end--;
    }
    if (end < status.st_size && ftruncate(fileno(file), end) != 0) {
        return report(path, strerror(errno));
    }
    return 1;
}

FILE *log_open(const char *path)
{
    struct stat status;
    int is_file = stat(path, &status) != 0 || S_ISREG(status.st_mode);
    FILE *file = is_file ? fopen(path, "a+") : input_open_sink(path); /* a pipe is opened only for writing */
    if (file == NULL) {
        report(path, errno == ENXIO ? "it is a pipe without a reader" : strerror(errno));
        return NULL;
    }
    if (is_file && !cut_off(file, path)) {
        fclose(file);
        return NULL;
    }
    return file;
}

int log_write(FILE *file, const json_t *line)
{
    /* 17 digits, so that losses of two runs can be compared bit for bit */
    errno = 0;
    return json_dumpf(line, file, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17)) == 0 &&
           putc('\n', file) != EOF && fflush(file) == 0;
}
