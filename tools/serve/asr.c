#include "serve/asr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/utf8.h"
#include "serve/client.h"
#include "serve/speech.h"
#include "serve/speech_results.h"
#include "shared/results.h"

/* The parameters of a request, from its query string. */
struct parameters {
    int is_raw; /* encode=false: the recording has 16-bit samples at 16 kHz, without a header */
    int has_words, vad;
    const char *output;
    clf_transcript_format format;
};

struct answer asr_problem(unsigned status, const char *message)
{
    if (status >= 500 || status == 401 || status == 413 ||
        status == 429) { /* Bazarr would save a message as a subtitle */
        int closes = status >= 500;
        return (struct answer){.status = status, .text = closes ? NULL : strdup(""), .closes = closes};
    }
    return (struct answer){
        .status = status,
        .text = speech_json(json_pack("{s:o}", "detail", result_text(message, strlen(message))))};
}

static const char *query(const struct speech_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* --- Validation, with FastAPI's messages --- */

static void add_detail(json_t *details, const char *type, const char *place, const char *name,
                       const char *message, const char *input)
{
    json_t *value = input != NULL ? result_text(input, strlen(input)) : json_null();
    json_array_append_new(details, json_pack("{s:s, s:[s, s], s:s, s:o}", "type", type, "loc", place, name,
                                             "msg", message, "input", value));
}

/* Returns 1 or 0 for the words that FastAPI accepts, or `otherwise` for a missing parameter. */
static int read_switch(json_t *details, const struct speech_request *request, const char *name, int otherwise)
{
    static const char *const words[] = {"0", "off", "f", "false", "n", "no",
                                        "1", "on",  "t", "true",  "y", "yes"};
    enum { WORDS = sizeof words / sizeof *words };
    const char *text = query(request, name);
    for (int i = 0; i < WORDS && text != NULL; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return i >= WORDS / 2;
        }
    }
    if (text != NULL) {
        add_detail(details, "bool_parsing", "query", name,
                   "Input should be a valid boolean, unable to interpret input", text);
    }
    return otherwise;
}

static void check_count(json_t *details, const struct speech_request *request, const char *name)
{
    const char *text = query(request, name);
    char *end = NULL;
    if (text != NULL && (strtoll(text, &end, 10), end == text || *end != '\0')) {
        add_detail(details, "int_parsing", "query", name,
                   "Input should be a valid integer, unable to parse string as an integer", text);
    }
}

static void check_file(json_t *details, const struct upload *upload)
{
    if (upload_file(upload) >= 0) {
        return;
    }
    const json_t *values = upload_values(upload, "audio_file");
    if (values != NULL) { /* a field without a file name */
        json_array_append_new(details, json_pack("{s:s, s:[s, s], s:s, s:O, s:{s:{}}}", "type", "value_error",
                                                 "loc", "body", "audio_file", "msg",
                                                 "Value error, Expected UploadFile, received: <class 'str'>",
                                                 "input", json_array_get(values, 0), "ctx", "error"));
    } else {
        add_detail(details, "missing", "body", "audio_file", "Field required", NULL);
    }
}

static clf_transcript_format format_of(const char *output)
{
    static const char *const names[] = {[CLF_TRANSCRIPT_TEXT] = "txt",
                                        [CLF_TRANSCRIPT_SRT] = "srt",
                                        [CLF_TRANSCRIPT_VTT] = "vtt",
                                        [CLF_TRANSCRIPT_TSV] = "tsv",
                                        [CLF_TRANSCRIPT_JSON] = "json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(output, names[i]) == 0) {
            return (clf_transcript_format)i;
        }
    }
    return CLF_TRANSCRIPT_TEXT;
}

/* Returns 0 and sets the answer if a parameter is invalid. */
static int read_parameters(struct parameters *parameters, const struct speech_request *request,
                           struct answer *answer)
{
    json_t *details = json_array();
    const char *output = query(request, "output");
    parameters->is_raw = !read_switch(details, request, "encode", 1);
    parameters->has_words = read_switch(details, request, "word_timestamps", 0);
    parameters->output = output != NULL ? output : "txt";
    parameters->format = format_of(parameters->output);
    parameters->vad = read_switch(details, request, "vad_filter", 0);
    read_switch(details, request, "diarize", 0);
    check_count(details, request, "min_speakers");
    check_count(details, request, "max_speakers");
    check_file(details, request->upload);
    if (json_array_size(details) > 0) {
        *answer = (struct answer){.status = 422, .text = speech_json(json_pack("{s:o}", "detail", details))};
        return 0;
    }
    json_decref(details);
    return 1;
}

/* --- Answers --- */

/* Closes the connection without an answer: Bazarr saves any body as a subtitle, whatever its status. */
static struct answer give_up(const struct speech_task *task, clf_status status)
{
    struct speech_failure failure = speech_task_failure(task, status);
    if (failure.status == 400) {
        fprintf(stderr, "clformer: a request failed: %s\n", failure.message);
    }
    return (struct answer){.status = failure.status, .closes = 1};
}

/* Appends text to a URL, percent-encoded like Python's quote(). */
static void write_quoted(FILE *file, const char *text)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~/";
    for (; *text != '\0'; text++) {
        if (strchr(kept, *text) != NULL) {
            fputc(*text, file);
        } else {
            fprintf(file, "%%%02X", (unsigned char)*text);
        }
    }
}

/* Answers with the transcript as a file; frees the text. */
static struct answer answer_file(const struct parameters *parameters, const struct upload *upload, char *text)
{
    char *header = NULL;
    size_t size = 0;
    FILE *file = text != NULL ? open_memstream(&header, &size) : NULL;
    struct MHD_Response *response = NULL;
    if (file != NULL) {
        fprintf(file, "attachment; filename=\"");
        write_quoted(file, upload_file_name(upload));
        fputc('.', file);
        write_quoted(file, parameters->output);
        fputc('"', file);
        fclose(file);
        response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    }
    if (response == NULL || header == NULL) {
        if (response != NULL) {
            MHD_destroy_response(response);
        } else {
            free(text);
        }
        free(header);
        return (struct answer){.status = 500, .closes = 1};
    }
    MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    MHD_add_response_header(response, "Asr-Engine", "clformer");
    MHD_add_response_header(response, "Content-Disposition", header);
    free(header);
    return (struct answer){.status = 200, .response = response};
}

/* Sets the options of a transcription; returns 0 for values that pass FastAPI's validation but are
 * invalid. */
static int set_options(struct speech_task *task, const struct speech_request *request,
                       const struct parameters *parameters)
{
    const char *language = query(request, "language"), *name = query(request, "task");
    const char *prompt = query(request, "initial_prompt"), *code;
    language = language != NULL && *language != '\0' ? language : NULL;
    task->options.translate = name != NULL && strcmp(name, "translate") == 0;
    task->options.word_timestamps = parameters->has_words;
    task->options.vad = parameters->vad;
    if (prompt != NULL && *prompt != '\0') {
        if (clf__utf8_valid_prefix(prompt, strlen(prompt)) != strlen(prompt)) {
            return 0;
        }
        task->options.initial_prompt = prompt;
    }
    if (!speech_language(&code, language)) {
        return 0;
    }
    task->options.language = code;
    int is_english = code == NULL || strcmp(code, "en") == 0;
    return !speech_model_is_english_only(task->model) || (is_english && !task->options.translate);
}

/* Drops an incomplete sample at the end of raw samples. Returns the number of samples. */
static uint64_t even_out(const struct upload *upload)
{
    uint64_t size = upload_file_size(upload);
    if (size % 2 > 0 && ftruncate(upload_file(upload), (off_t)(size - 1)) != 0) {
        return 0;
    }
    return size / 2;
}

struct answer asr_transcribe(struct service *service, struct speech_request *request)
{
    struct parameters parameters;
    struct answer answer;
    struct speech_task task;
    if (!read_parameters(&parameters, request, &answer)) {
        return answer;
    }
    speech_task_init(&task, service, speech_models_find(service->speech, NULL));
    if (!set_options(&task, request, &parameters)) {
        return (struct answer){.status = 400, .closes = 1};
    }
    if (parameters.is_raw && even_out(request->upload) == 0) {
        char none[] = "", language[] = "en";
        const struct clf_transcript empty = {
            .size = sizeof empty, .text = none, .language = language, .has_words = parameters.has_words};
        return answer_file(&parameters, request->upload, speech_format(&empty, parameters.format));
    }
    struct clf_transcript *transcript = NULL;
    clf_status status = speech_task_open(&task, upload_file(request->upload), parameters.is_raw);
    status = status == CLF_OK ? speech_task_begin(&task) : status;
    status = status == CLF_OK ? speech_task_run(&task, &transcript) : status;
    if (status == CLF_OK) {
        answer = answer_file(&parameters, request->upload, speech_format(transcript, parameters.format));
    } else {
        answer = give_up(&task, status);
    }
    clf_transcript_free(transcript);
    speech_task_end(&task);
    return answer;
}

struct answer asr_detect_language(struct service *service, struct speech_request *request)
{
    struct parameters parameters;
    struct answer answer;
    struct speech_task task;
    char *code = NULL;
    double probability = 0;
    if (!read_parameters(&parameters, request, &answer)) {
        return answer;
    }
    speech_task_init(&task, service, speech_models_find(service->speech, NULL));
    clf_status status = CLF_OK;
    if (parameters.is_raw && even_out(request->upload) == 0) {
        return asr_problem(422, "The recording is empty");
    }
    status = speech_task_open(&task, upload_file(request->upload), parameters.is_raw);
    status = status == CLF_OK ? speech_task_begin(&task) : status;
    status = status == CLF_OK ? speech_task_detect(&task, &code, &probability) : status;
    if (status == CLF_OK) {
        answer = (struct answer){
            .status = 200,
            .text = speech_json(json_pack("{s:s, s:s, s:f}", "detected_language", speech_language_name(code),
                                          "language_code", code, "confidence", probability))};
    } else {
        answer = give_up(&task, status);
    }
    clf_string_free(code);
    speech_task_end(&task);
    return answer;
}
