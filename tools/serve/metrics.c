#include "serve/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "runtime/device/device.h"
#include "serve/endpoints.h"
#include "serve/speech.h"

enum { STATUSES = 600, BUCKETS = 13 };

/* The upper bounds of the histogram's buckets, in seconds. */
static const double bounds[BUCKETS] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60};

struct endpoint {
    const char *name; /* NULL: unused */
    int64_t by_status[STATUSES];
    int64_t by_bucket[BUCKETS + 1]; /* not cumulative; the last one is for longer durations */
    double seconds;
};

struct metrics {
    pthread_mutex_t lock; /* guards the members below */
    struct endpoint endpoints[METRICS_ENDPOINTS];
    int running;
};

clf_status metrics_create(struct metrics **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the metrics");
    }
    pthread_mutex_init(&(*out)->lock, NULL);
    return CLF_OK;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics != NULL) {
        pthread_mutex_destroy(&metrics->lock);
    }
    free(metrics);
}

void metrics_begin(struct metrics *metrics)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->running++;
    pthread_mutex_unlock(&metrics->lock);
}

void metrics_end(struct metrics *metrics, const char *endpoint, unsigned status, double seconds)
{
    int bucket = 0;
    while (bucket < BUCKETS && seconds > bounds[bucket]) {
        bucket++;
    }
    pthread_mutex_lock(&metrics->lock);
    metrics->running--;
    for (int i = 0; i < METRICS_ENDPOINTS; i++) {
        struct endpoint *one = &metrics->endpoints[i];
        one->name = one->name == NULL ? endpoint : one->name;
        if (strcmp(one->name, endpoint) == 0) {
            one->by_status[status]++;
            one->by_bucket[bucket]++;
            one->seconds += seconds;
            break;
        }
    }
    pthread_mutex_unlock(&metrics->lock);
}

static void head(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP clformer_%s %s\n# TYPE clformer_%s %s\n", name, help, name, type);
}

static void write_counts(FILE *file, const struct metrics *metrics)
{
    head(file, "requests_total", "counter", "Requests by endpoint and HTTP status.");
    for (int i = 0; i < METRICS_ENDPOINTS && metrics->endpoints[i].name != NULL; i++) {
        for (int status = 0; status < STATUSES; status++) {
            int64_t count = metrics->endpoints[i].by_status[status];
            if (count > 0) {
                fprintf(file, "clformer_requests_total{endpoint=\"%s\",status=\"%d\"} %" PRId64 "\n",
                        metrics->endpoints[i].name, status, count);
            }
        }
    }
}

static void write_durations(FILE *file, const struct metrics *metrics)
{
    static const char name[] = "clformer_request_duration_seconds";
    head(file, "request_duration_seconds", "histogram", "Time from the headers of a request to its answer.");
    for (int i = 0; i < METRICS_ENDPOINTS && metrics->endpoints[i].name != NULL; i++) {
        const struct endpoint *endpoint = &metrics->endpoints[i];
        int64_t count = 0;
        for (int j = 0; j <= BUCKETS; j++) {
            char bound[32] = "+Inf";
            if (j < BUCKETS) {
                snprintf(bound, sizeof bound, "%g", bounds[j]);
            }
            count += endpoint->by_bucket[j];
            fprintf(file, "%s_bucket{endpoint=\"%s\",le=\"%s\"} %" PRId64 "\n", name, endpoint->name, bound,
                    count);
        }
        fprintf(file, "%s_sum{endpoint=\"%s\"} %.6f\n%s_count{endpoint=\"%s\"} %" PRId64 "\n", name,
                endpoint->name, endpoint->seconds, name, endpoint->name, count);
    }
}

/* Writes a counter of a model. */
static void write_counter(FILE *file, const char *name, const char *model,
                          const struct clf_stage_times *times, size_t offset)
{
    int64_t number;
    memcpy(&number, (const char *)times + offset, sizeof number);
    fprintf(file, "clformer_%s{model=\"%s\"} %" PRId64 "\n", name, model, number);
}

/* The work of each model. */
static void write_work(FILE *file, const struct service *service)
{
    static const struct {
        const char *name, *help;
        size_t offset; /* in struct clf_stage_times */
        int is_text;   /* speech models have no such counter */
    } counters[] = {
        {"lines_total", "Translated sentences and lines.", offsetof(struct clf_stage_times, lines), 1},
        {"source_tokens_total", "Source tokens.", offsetof(struct clf_stage_times, source_tokens), 1},
        {"target_tokens_total", "Generated tokens.", offsetof(struct clf_stage_times, target_tokens), 0},
        {"batches_total", "Batches of lines, or of windows of speech, that were encoded together.",
         offsetof(struct clf_stage_times, batches), 0},
        {"steps_total", "Decoder steps.", offsetof(struct clf_stage_times, steps), 0},
        {"step_rows_total", "Hypotheses in all decoder steps.", offsetof(struct clf_stage_times, step_rows),
         0},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        const struct speech_model *model;
        head(file, counters[i].name, "counter", counters[i].help);
        for (int j = 0; j < service->models->count; j++) {
            if (service->models->items[j].pool != NULL) {
                struct clf_stage_times times = pool_times(service->models->items[j].pool);
                write_counter(file, counters[i].name, service->models->items[j].name, &times,
                              counters[i].offset);
            }
        }
        for (int j = 0; service->speech != NULL && !counters[i].is_text &&
                        (model = speech_models_at(service->speech, j)) != NULL;
             j++) {
            struct clf_stage_times times = speech_model_times(model);
            write_counter(file, counters[i].name, speech_model_name(model), &times, counters[i].offset);
        }
    }
}

static void write_memory(FILE *file, const struct setup *devices)
{
    head(file, "device_memory_bytes", "gauge", "Memory that the server uses on a device.");
    for (int i = 0; i < devices->count; i++) {
        if (devices->devices[i] != NULL) {
            fprintf(file, "clformer_device_memory_bytes{device=\"%d\"} %" PRIu64 "\n",
                    clf_device_describe(devices->devices[i])->index, devices->devices[i]->used_bytes);
        }
    }
}

static void write_speech(FILE *file, const struct speech_models *models)
{
    const struct speech_model *model;
    head(file, "audio_seconds_total", "counter", "Duration of the transcribed recordings.");
    for (int i = 0; models != NULL && (model = speech_models_at(models, i)) != NULL; i++) {
        fprintf(file, "clformer_audio_seconds_total{model=\"%s\"} %.3f\n", speech_model_name(model),
                speech_model_seconds(model));
    }
    for (int gauge = 0; gauge < 2; gauge++) {
        static const char *const names[] = {"recordings_running", "recordings_waiting"};
        head(file, names[gauge], "gauge",
             gauge == 0 ? "Recordings that are transcribed." : "Recordings that wait for their turn.");
        for (int i = 0; models != NULL && (model = speech_models_at(models, i)) != NULL; i++) {
            int running, waiting = speech_model_waiting(&running, model);
            fprintf(file, "clformer_%s{model=\"%s\"} %d\n", names[gauge], speech_model_name(model),
                    gauge == 0 ? running : waiting);
        }
    }
    head(file, "windows_total", "counter", "Transcribed windows of speech.");
    for (int i = 0; models != NULL && (model = speech_models_at(models, i)) != NULL; i++) {
        struct clf_stage_times times = speech_model_times(model);
        write_counter(file, "windows_total", speech_model_name(model), &times,
                      offsetof(struct clf_stage_times, lines));
    }
}

char *metrics_text(const struct service *service)
{
    struct metrics *metrics = service->metrics;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&metrics->lock);
    write_counts(file, metrics);
    head(file, "requests_in_flight", "gauge", "Requests that are not answered yet, including this one.");
    fprintf(file, "clformer_requests_in_flight %d\n", metrics->running);
    write_durations(file, metrics);
    pthread_mutex_unlock(&metrics->lock);
    int64_t tokens;
    int waiting;
    gate_read(&tokens, &waiting, service->gate);
    head(file, "queue_tokens", "gauge", "Estimated tokens of the accepted requests.");
    fprintf(file, "clformer_queue_tokens %" PRId64 "\n", tokens);
    head(file, "requests_waiting", "gauge", "Requests that wait at the queue limit.");
    fprintf(file, "clformer_requests_waiting %d\n", waiting);
    write_memory(file, &service->models->devices);
    write_work(file, service);
    write_speech(file, service->speech);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
