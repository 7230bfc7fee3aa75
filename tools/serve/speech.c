#include "serve/speech.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "engine/engine.h"
#include "serve/client.h"
#include "serve/endpoints.h"
#include "serve/gate.h"
#include "text/tokenizers/speech_tokens.h"
#include "transcribe/detect.h"

/* Recordings that are transcribed at a time, per window of a batch: some are read while others are searched.
 */
enum { RUNNING_PER_WINDOW = 2 };
/* Running and waiting requests above which another is refused, if its API has a status that makes clients
 * retry. */
enum { MOST_REQUESTS = 128 };

struct speech_model {
    struct speech_model *next;
    struct clf_model *model;   /* on the first device */
    struct clf_engine *engine; /* over all devices */
    char *name;
    long long created;
    int is_english_only;
    struct gate *gate;
    atomic_llong milliseconds; /* total duration of the transcribed recordings */
};

struct speech_models {
    struct speech_model *first;
};

static void free_model(struct speech_model *model)
{
    if (model == NULL) {
        return;
    }
    gate_free(model->gate);
    clf_engine_free(model->engine);
    free(model->name);
    free(model);
}

/* Creates a transcriber once, to compile the kernels and to allocate the device memory that requests need. A
 * model that rejects the translation task is English-only. */
static clf_status create_transcriber(struct speech_model *model)
{
    struct clf_transcriber *transcriber = NULL;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.translate = 1;
    clf_status status = clf_transcriber_create_shared(&transcriber, model->engine, &options);
    model->is_english_only = status == CLF_BAD_ARGUMENT;
    if (model->is_english_only) {
        options.translate = 0;
        status = clf_transcriber_create_shared(&transcriber, model->engine, &options);
    }
    clf_transcriber_free(transcriber);
    return status;
}

static clf_status prepare(struct speech_model *model, const char *name, struct clf_model *const *loaded,
                          int count)
{
    for (int i = count - 1; i >= 0; i--) {
        model->model = loaded[i] != NULL ? loaded[i] : model->model;
    }
    model->created = (long long)time(NULL);
    model->name = strdup(name);
    if (model->name == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the speech models");
    }
    CLF__TRY(clf_engine_create(&model->engine, loaded, count, NULL));
    CLF__TRY(create_transcriber(model));
    return gate_create(&model->gate, (int64_t)RUNNING_PER_WINDOW * clf__engine_windows(model->engine));
}

clf_status speech_models_add(struct speech_models **models, const char *name, struct clf_model *const *loaded,
                             int count)
{
    struct speech_model *added = calloc(1, sizeof *added);
    if (*models == NULL) {
        *models = calloc(1, sizeof **models);
    }
    clf_status status = added != NULL && *models != NULL
                            ? prepare(added, name, loaded, count)
                            : clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the speech models");
    if (status != CLF_OK) {
        free_model(added);
        return status;
    }
    struct speech_model **end = &(*models)->first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = added;
    return CLF_OK;
}

void speech_models_free(struct speech_models *models)
{
    struct speech_model *model = models != NULL ? models->first : NULL;
    while (model != NULL) {
        struct speech_model *next = model->next;
        free_model(model);
        model = next;
    }
    free(models);
}

struct speech_model *speech_models_find(const struct speech_models *models, const char *name)
{
    struct speech_model *model = models->first;
    while (name != NULL && model != NULL && strcmp(model->name, name) != 0) {
        model = model->next;
    }
    return model == NULL && name != NULL && strcmp(name, "whisper-1") == 0 ? models->first : model;
}

struct speech_model *speech_models_at(const struct speech_models *models, int index)
{
    struct speech_model *model = models->first;
    for (int i = 0; i < index && model != NULL; i++) {
        model = model->next;
    }
    return model;
}

const char *speech_model_name(const struct speech_model *model)
{
    return model->name;
}

double speech_model_seconds(const struct speech_model *model)
{
    return 1e-3 * (double)atomic_load(&model->milliseconds);
}

struct clf_stage_times speech_model_times(const struct speech_model *model)
{
    struct clf_stage_times times;
    clf__engine_copy_times(model->engine, &times);
    return times;
}

int speech_model_waiting(int *running, const struct speech_model *model)
{
    int64_t work;
    int waiting;
    gate_read(&work, &waiting, model->gate);
    *running = (int)work;
    return waiting;
}

clf_status speech_model_transcriber(struct clf_transcriber **out, const struct speech_model *model,
                                    const struct clf_transcribe_options *options)
{
    return clf_transcriber_create_shared(out, model->engine, options);
}

void speech_model_add_seconds(struct speech_model *model, double seconds)
{
    atomic_fetch_add(&model->milliseconds, (long long)(1e3 * seconds));
}

const struct clf_model *speech_model_loaded(const struct speech_model *model)
{
    return model->model;
}

long long speech_model_created(const struct speech_model *model)
{
    return model->created;
}

int speech_model_is_english_only(const struct speech_model *model)
{
    return model->is_english_only;
}

int speech_language(const char **code, const char *language)
{
    char start[8];
    *code = NULL;
    if (language == NULL || strcmp(language, "auto") == 0) {
        return 1;
    }
    if (strcmp(language, "jv") == 0) { /* ISO 639-1; Whisper uses the older code */
        language = "jw";
    }
    *code = clf__speech_code(language);
    size_t size = strcspn(language, "-_");
    if (*code == NULL && size < sizeof start) { /* a code with a region, such as pt-BR */
        memcpy(start, language, size);
        start[size] = '\0';
        *code = clf__speech_code(start);
    }
    return *code != NULL;
}

const char *speech_language_name(const char *code)
{
    const char *name = clf__speech_name(code);
    return name != NULL ? name : code;
}

/* --- A transcription --- */

/* Polled between the steps of a transcription, on the thread of its client. */
static int interrupted(void *user)
{
    const struct speech_task *task = user;
    return atomic_load(&task->is_abandoned) || task->service->request_is_over(NULL);
}

void speech_task_init(struct speech_task *task, struct service *service, struct speech_model *model)
{
    memset(task, 0, sizeof *task);
    task->service = service;
    task->model = model;
    clf_transcribe_options_init(&task->options);
}

int speech_task_set_temperature(struct speech_task *task, double first, double increment)
{
    double steps = first < 1 && increment > 0 ? ceil((1 + 1e-6 - first) / increment) : 1;
    if (!(steps <= SPEECH_MOST_TEMPERATURES)) {
        return 0;
    }
    int count = 0;
    for (; count < steps; count++) {
        task->temperatures[count] =
            count == 1 ? first + increment : first + count * ((first + increment) - first);
    }
    task->options.temperatures = task->temperatures;
    task->options.temperature_count = count;
    return 1;
}

clf_status speech_task_open(struct speech_task *task, int file, int is_raw)
{
    snprintf(task->path, sizeof task->path, "/proc/self/fd/%d", file);
    clf_status status = is_raw ? clf_audio_open_raw(&task->audio, task->path, CLF_AUDIO_RATE)
                               : clf_audio_open(&task->audio, task->path);
    if (status == CLF_OK) {
        task->seconds = (double)clf_audio_length(task->audio) / CLF_AUDIO_RATE;
    }
    return status;
}

static void keep_seconds(double seconds, double of, void *user)
{
    struct speech_task *task = user;
    (void)seconds;
    task->seconds = task->seconds > 0 ? task->seconds : of;
}

static void pass_segment(const struct clf_segment *segment, void *user)
{
    const struct speech_task *task = user;
    task->segment(segment, task->user);
}

clf_status speech_task_begin(struct speech_task *task)
{
    task->options.interrupted = interrupted;
    task->options.progress = keep_seconds;
    task->options.segment = task->segment != NULL ? pass_segment : NULL;
    task->options.payload = task;
    const struct gate_wait wait = {INFINITY, task->may_be_refused ? MOST_REQUESTS : INT_MAX, interrupted,
                                   task};
    enum gate_result result = gate_enter(task->model->gate, 1, &wait);
    task->has_turn = result == GATE_ENTERED;
    task->is_refused = result == GATE_IS_BUSY;
    if (!task->has_turn) {
        return clf__fail(CLF_INTERRUPTED, "interrupted by the caller");
    }
    return speech_model_transcriber(&task->transcriber, task->model, &task->options);
}

clf_status speech_task_run(struct speech_task *task, struct clf_transcript **out)
{
    clf_status status = clf_transcribe(out, task->transcriber, task->audio);
    if (status == CLF_OK) {
        speech_model_add_seconds(task->model, task->seconds);
    }
    return status;
}

clf_status speech_task_detect(struct speech_task *task, char **code, double *probability)
{
    enum { SAMPLES = 30 * CLF_AUDIO_RATE };
    float *samples = malloc(SAMPLES * sizeof *samples);
    struct clf_audio *start = NULL;
    size_t count = 0;
    if (samples == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for a recording");
    }
    clf_status status = clf_audio_read(samples, &count, task->audio, SAMPLES);
    status = status == CLF_OK ? clf_audio_open_samples(&start, samples, count) : status;
    status = status == CLF_OK ? clf__transcriber_detect(code, probability, task->transcriber, start) : status;
    clf_audio_free(start);
    free(samples);
    return status;
}

void speech_task_end(struct speech_task *task)
{
    clf_transcriber_free(task->transcriber);
    clf_audio_free(task->audio);
    if (task->has_turn) {
        gate_leave(task->model->gate, 1);
    }
    task->transcriber = NULL;
    task->audio = NULL;
    task->has_turn = 0;
}

/* Copies the message, without the path of the temporary file at its start. */
static void keep_message(struct speech_failure *failure, const char *path)
{
    const char *message = clf_last_error();
    size_t size = strlen(path);
    int is_named = size > 0 && strncmp(message, path, size) == 0;
    snprintf(failure->message, sizeof failure->message, "%s", is_named ? message + size : message);
    if (is_named) {
        snprintf(failure->message, sizeof failure->message, "the recording%s", message + size);
    }
}

struct speech_failure speech_task_failure(const struct speech_task *task, clf_status status)
{
    struct speech_failure failure = {.status = 500};
    int is_recording = strncmp(clf_last_error(), task->path, strlen(task->path)) == 0 && *task->path != '\0';
    if (status == CLF_FORMAT && is_recording) {
        failure.status = 400;
        failure.field = "file";
        keep_message(&failure, task->path);
    } else if (status == CLF_TEXT && task->transcriber == NULL) { /* the prompt is the only text */
        failure.status = 400;
        failure.field = "prompt";
        keep_message(&failure, task->path);
    } else if (status == CLF_BAD_ARGUMENT && task->transcriber == NULL && task->options.language != NULL) {
        failure.status = 400;
        failure.field = "language";
        snprintf(failure.message, sizeof failure.message, "language: the model %s does not support %s",
                 task->model->name, task->options.language);
    } else if (task->is_refused) {
        failure.status = 429;
        snprintf(failure.message, sizeof failure.message, "the server is busy; try again later");
    } else if (status == CLF_INTERRUPTED && client_is_gone()) {
        failure.status = CLIENT_IS_GONE;
        snprintf(failure.message, sizeof failure.message, "the client has closed the connection");
    } else if (status == CLF_INTERRUPTED && atomic_load(&task->service->is_stopping)) {
        failure.status = 503;
        snprintf(failure.message, sizeof failure.message, "the server is stopping");
    } else if (status == CLF_INTERRUPTED && client_is_late()) {
        failure.status = 504;
        snprintf(failure.message, sizeof failure.message, "the request exceeded the time limit of %.0f s",
                 task->service->limits.time);
    } else {
        fprintf(stderr, "clformer: a request failed: %s\n", clf_last_error());
        snprintf(failure.message, sizeof failure.message, "the transcription failed; see the server's log");
    }
    return failure;
}
