#include "serve/whisper_cpp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/openai.h"
#include "serve/openai_answers.h"
#include "serve/speech.h"
#include "serve/speech_results.h"
#include "shared/results.h"

/* The fields of a request. Fields that are not listed are ignored. */
struct inference {
    struct speech_task task;
    const char *format;
    double clips[2]; /* start and end in seconds */
};

struct answer whisper_cpp_problem(unsigned status, const char *message)
{
    return endpoints_error(status, "%s", message);
}

/* Returns the number in a field; `otherwise` if it is missing or not a number. */
static double number(const struct upload *upload, const char *name, double otherwise)
{
    const char *text = upload_text(upload, name);
    char *end = NULL;
    double value = text != NULL ? strtod(text, &end) : otherwise;
    return text != NULL && (end == text || *end != '\0' || !isfinite(value)) ? otherwise : value;
}

static int is_set(const struct upload *upload, const char *name)
{
    return openai_is_true(upload_text(upload, name));
}

static void read_clips(struct inference *inference, const struct upload *upload)
{
    static const double MOST = 1e9;
    double start = number(upload, "offset_t", 0) / 1000, length = number(upload, "duration", 0) / 1000;
    start = start > 0 && start < MOST / 2 ? start : 0;
    inference->clips[0] = start;
    inference->clips[1] = start + length;
    if (start > 0 || length > 0) {
        inference->task.options.clips = inference->clips;
        inference->task.options.clip_count = length > 0 && length < MOST / 2 ? 2 : 1;
    }
}

static void read_search(struct inference *inference, const struct upload *upload)
{
    enum { MOST_BEAMS = 16 };
    struct clf_transcribe_options *options = &inference->task.options;
    double beam = number(upload, "beam_size", 0), samples = number(upload, "best_of", 0);
    double temperature = number(upload, "temperature", 0), increment = number(upload, "temperature_inc", 0.2);
    if (beam >= 1) {
        options->beam = beam < MOST_BEAMS ? (int)beam : MOST_BEAMS;
    }
    if (samples >= 1) {
        options->best_of = samples < MOST_BEAMS ? (int)samples : MOST_BEAMS;
    }
    if (temperature < 0 || temperature > 1 ||
        !speech_task_set_temperature(&inference->task, temperature, increment)) {
        speech_task_set_temperature(&inference->task, 0, 0.2);
    }
    options->log_probability_threshold = number(upload, "logprob_thold", options->log_probability_threshold);
    options->no_speech_threshold = number(upload, "no_speech_thold", options->no_speech_threshold);
}

/* Returns 0 for an unknown language. */
static int read_language(struct inference *inference, const struct upload *upload)
{
    const char *language = upload_text(upload, "language"), *code = NULL;
    struct clf_transcribe_options *options = &inference->task.options;
    if (speech_model_is_english_only(inference->task.model)) { /* as whisper.cpp: the fields are ignored */
        return 1;
    }
    options->translate = is_set(upload, "translate");
    if (is_set(upload, "detect_language")) {
        return 1;
    }
    if (!speech_language(&code, language != NULL ? language : "en")) {
        return 0;
    }
    options->language = code;
    return 1;
}

static int read_fields(struct inference *inference, const struct upload *upload)
{
    struct clf_transcribe_options *options = &inference->task.options;
    const char *format = upload_text(upload, "response_format");
    inference->format = format != NULL ? format : "json";
    options->timestamps = !is_set(upload, "no_timestamps");
    options->word_timestamps = strcmp(inference->format, "verbose_json") == 0 && options->timestamps;
    options->condition_on_previous = number(upload, "max_context", -1) != 0 && !is_set(upload, "no_context");
    options->initial_prompt = upload_text(upload, "prompt");
    options->carry_initial_prompt = is_set(upload, "carry_initial_prompt") && options->initial_prompt != NULL;
    read_clips(inference, upload);
    read_search(inference, upload);
    return read_language(inference, upload);
}

/* Returns the text as whisper.cpp writes it: a line per segment, with the model's leading space. */
static char *lines(const struct clf_transcript *transcript)
{
    size_t size = 1, used = 0;
    for (int i = 0; i < transcript->count; i++) {
        size += strlen(transcript->segments[i].text) + 1;
    }
    char *text = malloc(size);
    if (text != NULL) {
        *text = '\0';
    }
    for (int i = 0; i < transcript->count && text != NULL; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s\n", transcript->segments[i].text);
    }
    return text;
}

static json_t *segment(const struct inference *inference, const struct clf_segment *segment)
{
    json_t *object = json_pack(
        "{s:i, s:o, s:f, s:f, s:o, s:f, s:f, s:f}", "id", segment->id, "text",
        result_text(segment->text, strlen(segment->text)), "start", segment->start, "end", segment->end,
        "tokens", result_ids(segment->tokens, segment->token_count), "temperature", segment->temperature,
        "avg_logprob", segment->avg_logprob, "no_speech_prob", segment->no_speech_prob);
    if (inference->task.options.word_timestamps) {
        json_t *words = json_array();
        speech_words(words, segment, 1);
        json_object_set_new(object, "words", words);
    }
    return object;
}

static char *verbose_json(const struct inference *inference, const struct clf_transcript *transcript)
{
    char *text = lines(transcript);
    const char *language = speech_language_name(transcript->language);
    json_t *segments = json_array();
    for (int i = 0; i < transcript->count; i++) {
        json_array_append_new(segments, segment(inference, &transcript->segments[i]));
    }
    json_t *object = json_pack("{s:s, s:s, s:f, s:o, s:o, s:s}", "task",
                               inference->task.options.translate ? "translate" : "transcribe", "language",
                               language, "duration", inference->task.seconds, "text",
                               result_text(text != NULL ? text : "", text != NULL ? strlen(text) : 0),
                               "segments", segments, "detected_language", language);
    free(text);
    return speech_json(object);
}

static struct answer answer_transcript(const struct inference *inference,
                                       const struct clf_transcript *transcript)
{
    const char *format = inference->format;
    if (strcmp(format, "srt") == 0) {
        return (struct answer){.status = 200, .text = speech_srt(transcript), .type = "application/x-subrip"};
    }
    if (strcmp(format, "vtt") == 0) {
        return (struct answer){.status = 200, .text = speech_vtt(transcript), .type = "text/vtt"};
    }
    if (strcmp(format, "verbose_json") == 0) {
        return (struct answer){.status = 200, .text = verbose_json(inference, transcript)};
    }
    char *text = lines(transcript);
    if (text == NULL ||
        strcmp(format, "text") == 0) { /* whisper.cpp sends text/html, which a browser would render */
        return (struct answer){.status = 200, .text = text, .type = "text/plain; charset=utf-8"};
    }
    struct answer answer = {.status = 200,
                            .text = speech_json(json_pack("{s:o}", "text", result_text(text, strlen(text))))};
    free(text);
    return answer;
}

static struct answer fail(const struct speech_task *task, clf_status status)
{
    struct speech_failure failure = speech_task_failure(task, status);
    if (failure.status == 400 && strcmp(failure.field, "file") == 0) {
        return endpoints_error(400, "failed to read audio data");
    }
    struct answer answer = endpoints_error(
        failure.status, "%s", failure.status == 500 ? "failed to process audio" : failure.message);
    answer.retry_after = failure.status == 429 ? OPENAI_RETRY_SECONDS : 0;
    return answer;
}

/* Returns the model of a request: by name, or else the one selected by /load, or else the first. */
static struct speech_model *find_model(const struct service *service, const char *name)
{
    struct speech_model *model = name != NULL ? speech_models_find(service->speech, name) : NULL;
    model = model != NULL ? model : atomic_load(&service->loaded);
    return model != NULL ? model : speech_models_find(service->speech, NULL);
}

struct answer whisper_cpp_load(struct service *service, struct speech_request *request)
{
    const char *name = upload_text(request->upload, "model");
    struct speech_model *model = name != NULL ? speech_models_find(service->speech, name) : NULL;
    if (!service->allows_load) {
        return endpoints_error(403, "loading models is disabled on this server");
    }
    if (model == NULL) {
        return endpoints_error(400, name != NULL ? "model not found!" : "no 'model' field in the request");
    }
    atomic_store(&service->loaded, model);
    return (struct answer){
        .status = 200, .text = strdup("Load was successful!"), .type = "text/plain; charset=utf-8"};
}

struct answer whisper_cpp_infer(struct service *service, struct speech_request *request)
{
    struct inference inference;
    struct upload *upload = request->upload;
    if (upload_file(upload) < 0) {
        return endpoints_error(400, "no 'file' field in the request");
    }
    speech_task_init(&inference.task, service, find_model(service, upload_text(upload, "model")));
    if (!read_fields(&inference, upload)) {
        return endpoints_error(400, "the language is unknown");
    }
    struct speech_task *task = &inference.task;
    task->may_be_refused = 1;
    struct clf_transcript *transcript = NULL;
    clf_status status = speech_task_open(task, upload_file(upload), 0);
    status = status == CLF_OK ? speech_task_begin(task) : status;
    status = status == CLF_OK ? speech_task_run(task, &transcript) : status;
    struct answer answer = status == CLF_OK ? answer_transcript(&inference, transcript) : fail(task, status);
    clf_transcript_free(transcript);
    speech_task_end(task);
    return answer;
}
