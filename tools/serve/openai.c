#include "serve/openai.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "serve/openai_answers.h"
#include "serve/speech_results.h"
#include "serve/speech_stream.h"
#include "shared/results.h"

enum { SHOWN_BYTES = 64 };

/* --- Errors --- */

char *openai_error_text(unsigned status, const char *field, const char *code, const char *message)
{
    const char *type = status == 413 || status >= 500 ? "server_error" : "invalid_request_error";
    return speech_json(json_pack("{s:{s:o, s:s, s:s?, s:s?}}", "error", "message",
                                 result_text(message, strlen(message)), "type", type, "param", field, "code",
                                 code));
}

struct answer openai_error(unsigned status, const char *field, const char *code, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 overlooks va_start() */
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return (struct answer){.status = status, .text = openai_error_text(status, field, code, message)};
}

struct answer openai_problem(unsigned status, const char *message)
{
    const char *code = status == 401 ? "invalid_api_key" : status == 429 ? "rate_limit_exceeded" : NULL;
    struct answer answer = openai_error(status, NULL, code, "%s", message);
    answer.retry_after = status == 429 ? OPENAI_RETRY_SECONDS : 0;
    return answer;
}

static struct answer openai_failure(const struct speech_task *task, clf_status status)
{
    struct speech_failure failure = speech_task_failure(task, status);
    return failure.field == NULL ? openai_problem(failure.status, failure.message)
                                 : openai_error(failure.status, failure.field, NULL, "%s", failure.message);
}

/* Returns how many bytes of a client's word an error repeats. */
static int shown_size(const char *word)
{
    size_t size = strlen(word);
    return (int)(size < SHOWN_BYTES ? size : clf__utf8_cut(word, SHOWN_BYTES));
}

static struct answer unknown_model(const char *name)
{
    return openai_error(404, "model", "model_not_found", "The model `%.*s` does not exist", shown_size(name),
                        name);
}

/* --- Fields --- */

int openai_is_true(const char *text)
{
    static const char *const words[] = {"true", "1", "yes", "y", "on"};
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Each function below reads a field; it returns 0 with an error in *answer if the field is wrong. */

static int read_format(struct openai_job *job, struct answer *answer)
{
    static const char *const names[] = {[OPENAI_JSON] = "json",
                                        [OPENAI_TEXT] = "text",
                                        [OPENAI_SRT] = "srt",
                                        [OPENAI_VERBOSE_JSON] = "verbose_json",
                                        [OPENAI_VTT] = "vtt"};
    const char *text = upload_text(job->upload, "response_format");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (text == NULL || strcmp(text, names[i]) == 0) {
            job->format = (enum openai_format)i;
            return 1;
        }
    }
    *answer = openai_error(400, "response_format", NULL,
                           "response_format: %.*s is not supported; use json, text, srt, verbose_json or vtt",
                           shown_size(text), text);
    return 0;
}

static int read_temperature(struct openai_job *job, struct answer *answer)
{
    const char *text = upload_text(job->upload, "temperature");
    char *end = NULL;
    double value = text != NULL ? strtod(text, &end) : 0;
    if (text != NULL && (end == text || *end != '\0' || !(value >= 0 && value <= 1))) {
        *answer = openai_error(400, "temperature", NULL,
                               "temperature: must be a number from 0 to 1, not %.*s", shown_size(text), text);
        return 0;
    }
    return value > 0 ? speech_task_set_temperature(&job->task, value, 0.2) : 1;
}

static int read_language(struct openai_job *job, struct answer *answer)
{
    const char *text = upload_text(job->upload, "language");
    int is_english = speech_model_is_english_only(job->task.model);
    const char *code;
    if (job->translates && is_english) {
        *answer = openai_error(400, "model", NULL, "The model %s is English-only and cannot translate",
                               speech_model_name(job->task.model));
        return 0;
    }
    /* The language of a translation is that of the recording, which OpenAI's API does not know. */
    if (!speech_language(&code, text)) {
        *answer = openai_error(400, "language", NULL,
                               "language: %.*s is unknown; use a code of ISO 639-1, such as fr",
                               shown_size(text), text);
        return 0;
    }
    if (is_english && code != NULL && strcmp(code, "en") != 0) {
        *answer = openai_error(400, "language", NULL, "The model %s is English-only",
                               speech_model_name(job->task.model));
        return 0;
    }
    job->task.options.language = code;
    return 1;
}

static int read_granularities(struct openai_job *job, struct answer *answer)
{
    const json_t *values = upload_values(job->upload, "timestamp_granularities[]");
    values = values != NULL ? values : upload_values(job->upload, "timestamp_granularities");
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *text = json_string_value(json_array_get(values, i));
        int is_word = strcmp(text, "word") == 0, is_segment = strcmp(text, "segment") == 0;
        if (!is_word && !is_segment && *text != '\0') {
            *answer = openai_error(400, "timestamp_granularities", NULL,
                                   "timestamp_granularities: must be word or segment, not %.*s",
                                   shown_size(text), text);
            return 0;
        }
        job->has_words |= is_word;
        job->has_segments |= is_segment;
    }
    job->has_segments |= !job->has_words;
    job->task.options.word_timestamps = job->has_words && job->format == OPENAI_VERBOSE_JSON;
    return 1;
}

static int read_request(struct openai_job *job, struct service *service, struct answer *answer)
{
    const char *name = upload_text(job->upload, "model");
    struct speech_model *model = speech_models_find(service->speech, name);
    if (upload_file(job->upload) < 0) {
        *answer = openai_error(400, "file", NULL, "file: the recording is missing");
        return 0;
    }
    if (model == NULL) {
        *answer = unknown_model(name);
        return 0;
    }
    speech_task_init(&job->task, service, model);
    job->task.may_be_refused = 1;
    job->task.options.translate = job->translates;
    job->task.options.initial_prompt = upload_text(job->upload, "prompt");
    job->streams = openai_is_true(upload_text(job->upload, "stream"));
    job->task.segment = job->streams ? speech_stream_segment : NULL;
    return read_format(job, answer) && read_temperature(job, answer) && read_language(job, answer) &&
           read_granularities(job, answer);
}

/* --- Answers --- */

static struct answer run(struct openai_job *job)
{
    struct clf_transcript *transcript = NULL;
    clf_status status = speech_task_run(&job->task, &transcript);
    struct answer answer =
        status == CLF_OK ? openai_answer(job, transcript) : openai_failure(&job->task, status);
    clf_transcript_free(transcript);
    return answer;
}

void openai_job_free(struct openai_job *job)
{
    speech_task_end(&job->task);
    upload_free(job->upload);
    free(job);
}

static struct answer answer_speech(struct service *service, struct speech_request *request, int translates)
{
    struct openai_job *job = calloc(1, sizeof *job);
    struct answer answer;
    if (job == NULL) {
        return openai_problem(500, "out of memory");
    }
    job->upload = request->upload;
    request->upload = NULL;
    job->translates = translates;
    if (!read_request(job, service, &answer)) {
        openai_job_free(job);
        return answer;
    }
    clf_status status = speech_task_open(&job->task, upload_file(job->upload), 0);
    status = status == CLF_OK ? speech_task_begin(&job->task) : status;
    if (status == CLF_OK && job->streams) {
        return speech_stream_answer(job, request->connection);
    }
    answer = status == CLF_OK ? run(job) : openai_failure(&job->task, status);
    openai_job_free(job);
    return answer;
}

struct answer openai_transcribe(struct service *service, struct speech_request *request)
{
    return answer_speech(service, request, 0);
}

struct answer openai_translate(struct service *service, struct speech_request *request)
{
    return answer_speech(service, request, 1);
}

static json_t *describe_model(const struct speech_model *model)
{
    return json_pack("{s:s, s:s, s:I, s:s}", "id", speech_model_name(model), "object", "model", "created",
                     (json_int_t)speech_model_created(model), "owned_by", "clformer");
}

struct answer openai_models(struct service *service, struct speech_request *request)
{
    const struct speech_model *model;
    if (*request->rest != '\0') {
        model = speech_models_find(service->speech, request->rest);
        return model != NULL ? (struct answer){.status = 200, .text = speech_json(describe_model(model))}
                             : unknown_model(request->rest);
    }
    json_t *list = json_array();
    for (int i = 0; (model = speech_models_at(service->speech, i)) != NULL; i++) {
        json_array_append_new(list, describe_model(model));
    }
    return (struct answer){.status = 200,
                           .text = speech_json(json_pack("{s:s, s:o}", "object", "list", "data", list))};
}
