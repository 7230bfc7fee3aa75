#include "train/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/command.h"
#include "shared/page.h"
#include "shared/results.h"

enum { MOST_POINTS = 1200 }; /* maximum number of points per curve */

/* The updates that one point of the page represents. */
struct bucket {
    double loss, nll, gradient_norm; /* means over the updates */
    double lowest, highest;          /* range of the loss */
    double largest_norm;
    double learning_rate;
    double tokens, seconds; /* sums over the updates */
    int counted;            /* updates with a finite loss */
};

static void add_point(struct bucket *bucket, const struct clf_train_update *point)
{
    bucket->learning_rate = point->learning_rate;
    bucket->tokens += (double)(point->source_tokens + point->target_tokens);
    bucket->seconds += isfinite(point->seconds) ? point->seconds : 0;
    bucket->largest_norm = fmax(bucket->largest_norm, point->gradient_norm); /* fmax() ignores NAN */
    if (!isfinite(point->loss)) {
        return;
    }
    bucket->counted++;
    bucket->loss += point->loss;
    bucket->nll += point->nll;
    bucket->gradient_norm += point->gradient_norm;
    bucket->lowest = fmin(bucket->lowest, point->loss);
    bucket->highest = fmax(bucket->highest, point->loss);
}

enum curve { UPDATE, EPOCH, LOSS, LOWEST, HIGHEST, NLL, RATE, NORM, LARGEST, TOKENS, SECONDS, CURVES };
static const char *const names[CURVES] = {"update",       "epoch",  "loss",          "lowest",
                                          "highest",      "nll",    "learning_rate", "gradient_norm",
                                          "largest_norm", "tokens", "seconds"};

static int put(json_t *curves, enum curve curve, double value)
{
    return json_array_append_new(json_object_get(curves, names[curve]), result_number(value)) == 0;
}

static int put_bucket(json_t *curves, const struct clf_train_update *last, const struct bucket *bucket)
{
    double scale = bucket->counted > 0 ? 1.0 / bucket->counted : NAN;
    const double values[CURVES] = {
        [UPDATE] = (double)last->update,  [EPOCH] = last->epoch,
        [LOSS] = bucket->loss * scale,    [LOWEST] = bucket->lowest,
        [HIGHEST] = bucket->highest,      [NLL] = bucket->nll * scale,
        [RATE] = bucket->learning_rate,   [NORM] = bucket->gradient_norm * scale,
        [LARGEST] = bucket->largest_norm, [TOKENS] = bucket->tokens,
        [SECONDS] = bucket->seconds,
    };
    for (int curve = 0; curve < CURVES; curve++) {
        if (!put(curves, (enum curve)curve, values[curve])) {
            return 0;
        }
    }
    return 1;
}

/* Averages equal numbers of updates per point; NULL if out of memory. */
static json_t *curves_of(const struct train_history *run)
{
    json_t *curves = json_object();
    for (int curve = 0; curve < CURVES; curve++) {
        json_object_set_new(curves, names[curve], json_array());
    }
    size_t width = (run->count + MOST_POINTS - 1) / MOST_POINTS;
    for (size_t first = 0; first < run->count; first += width) {
        size_t end = first + width < run->count ? first + width : run->count;
        struct bucket bucket = {.lowest = INFINITY, .highest = -INFINITY, .largest_norm = NAN};
        for (size_t i = first; i < end; i++) {
            add_point(&bucket, &run->points[i]);
        }
        if (!put_bucket(curves, &run->points[end - 1], &bucket)) {
            json_decref(curves);
            return NULL;
        }
    }
    return curves;
}

/* Returns the index of the validation with the best value of a key; NULL if none has the key. */
static json_t *best_of(const json_t *validations, const char *name, int is_least)
{
    double best = 0;
    json_t *found = NULL, *validation;
    size_t i;
    json_array_foreach(validations, i, validation)
    {
        const json_t *value = json_object_get(validation, name);
        double number = json_number_value(value);
        if (json_is_number(value) && (found == NULL || (is_least ? number < best : number > best))) {
            best = number;
            json_decref(found);
            found = json_integer((json_int_t)i);
        }
    }
    return found;
}

/* Finds the best validations, shown on the cards and marked in the charts. */
static json_t *bests_of(const json_t *validations)
{
    return json_pack("{s:o*, s:o*, s:o*}", "loss", best_of(validations, "loss", 1), "perplexity",
                     best_of(validations, "perplexity", 1), "bleu", best_of(validations, "bleu", 0));
}

/* Returns the length of the folder prefix shared by all names, which is not shown: it does not distinguish
 * runs and may be private. */
static size_t shared_folders(const struct train_history *runs, int count)
{
    size_t shared = 0, length;
    for (size_t i = 0;; i++) {
        for (int run = 0; run < count; run++) {
            const char *name = runs[run].name;
            if (i >= (size_t)(page_last_part(name, &length) - name) || name[i] != runs[0].name[i]) {
                return shared;
            }
        }
        shared = runs[0].name[i] == '/' ? i + 1 : shared;
    }
}

static json_t *run_of(const struct train_history *run, const char *name)
{
    const struct clf_train_update *last = run->count > 0 ? &run->points[run->count - 1] : NULL;
    return json_pack("{s:o, s:O?, s:O?, s:o, s:i, s:I, s:o}", "name", result_text(name, strlen(name)),
                     "start", run->start, "validations", run->validations, "best", bests_of(run->validations),
                     "updates_a_point", (int)((run->count + MOST_POINTS - 1) / MOST_POINTS), "skipped",
                     (json_int_t)(last != NULL ? last->skipped : 0), "curves", curves_of(run));
}

struct content {
    const struct train_history *runs;
    int count;
};

static int print_field(FILE *file, const void *context, const char *name, size_t length)
{
    const struct content *content = context;
    size_t folders = shared_folders(content->runs, content->count);
    if (length == 5 && memcmp(name, "TITLE", length) == 0) {
        page_print_escaped(file, content->count == 1 ? content->runs[0].name + folders : "several runs");
        return EXIT_DONE;
    }
    json_t *runs = json_array(); /* @DATA@ */
    for (int i = 0; i < content->count; i++) {
        runs = result_append(runs, run_of(&content->runs[i], content->runs[i].name + folders));
    }
    return page_print_json(file, json_pack("{s:s, s:o}", "clformer", CLF_VERSION_STRING, "runs", runs));
}

int train_page_write(const char *path, const struct train_history *runs, int count)
{
    struct content content = {runs, count};
    return page_write(path, &(struct page){train_template, print_field, &content});
}
