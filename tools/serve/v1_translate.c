#include "serve/v1_translate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "serve/events.h"
#include "serve/failures.h"
#include "serve/q_field.h"
#include "serve/texts.h"
#include "serve/v1_options.h"
#include "shared/results.h"

enum { BUSY = 503 };

/* A running request; the payload of the translation's hooks. */
struct job {
    struct service *service;
    struct v1_request request;
    json_t *lists;               /* list of sentences for each text */
    json_t *missing;             /* object with the missing terms, if any, for each text */
    int *owners;                 /* the text of each line */
    struct event_stream *events; /* NULL: one answer */
    atomic_int is_abandoned;     /* the client of the events has disconnected */
};

static int is_over(void *user)
{
    struct job *job = user;
    return atomic_load(&job->is_abandoned) || job->service->request_is_over(NULL);
}

/* Adds an event of a type to the stream; takes ownership of the object. */
static void add_event(struct job *job, const char *type, json_t *object)
{
    json_t *event = json_pack("{s:s}", "type", type);
    int failed = object == NULL || json_object_update(event, object) != 0;
    event_stream_add(job->events, failed ? NULL : json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(9)));
    json_decref(event);
    json_decref(object);
}

static void take_sentence(int line, const struct clf_sentence *sentence, void *user)
{
    struct job *job = user;
    json_t *list = json_array_get(job->lists, (size_t)job->owners[line]);
    if (json_array_append_new(list, result_sentence(sentence)) != 0) {
        json_decref(job->lists);
        job->lists = NULL;
    }
    if (job->events != NULL) {
        add_event(job, "sentence", result_sentence(sentence));
    }
}

/* Adds the missing terms of a line to those of its text. */
static void take_missing(int line, const struct clf_translation *translation, void *user)
{
    struct job *job = user;
    if (!result_add_missing(json_array_get(job->missing, (size_t)job->owners[line]), translation)) {
        json_decref(job->missing);
        job->missing = NULL;
    }
}

static void take_part(int line, const char *text, size_t size, void *user)
{
    (void)line;
    add_event(user, "delta", json_pack("{s:o}", "text", result_text(text, size)));
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for a request");
}

/* Calls texts_translate_by() with a translator of the request's options. */
static clf_status translate_texts(json_t **out, struct job *job, const json_t *texts,
                                  struct clf_engine *engine)
{
    struct clf_translator *translator;
    job->owners = texts_line_owners(texts);
    job->lists = json_array();
    job->missing = json_array();
    for (size_t i = 0; i < json_array_size(texts) && job->lists != NULL && job->missing != NULL; i++) {
        job->lists = result_append(job->lists, json_array());
        job->missing = result_append(job->missing, json_object());
    }
    if (job->owners == NULL || job->lists == NULL || job->missing == NULL) {
        return no_memory();
    }
    job->request.options.sentence_translated = take_sentence;
    job->request.options.translated = take_missing;
    CLF__TRY(clf_translator_create_shared(&translator, engine, &job->request.options));
    clf_status status = texts_translate_by(out, texts, translator);
    clf_translator_free(translator);
    return status;
}

/* Translates texts sentence by sentence: an object with "text" and "sentences" for each. */
static clf_status translate_sentences(json_t **out, struct job *job, const json_t *texts,
                                      struct clf_engine *engine)
{
    json_t *translated = NULL;
    clf_status status = translate_texts(&translated, job, texts, engine);
    json_t *array = status == CLF_OK && job->lists != NULL && job->missing != NULL ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(texts) && array != NULL; i++) {
        json_t *object = json_array_get(job->missing, i);
        int failed = json_object_set(object, "text", json_array_get(translated, i)) != 0 ||
                     json_object_set(object, "sentences", json_array_get(job->lists, i)) != 0;
        array = result_append(array, failed ? NULL : json_incref(object));
    }
    json_decref(translated);
    *out = array;
    return status == CLF_OK && array == NULL ? no_memory() : status;
}

static struct clf_line *list_lines(const json_t *texts)
{
    struct clf_line *lines = calloc(json_array_size(texts) + 1, sizeof *lines);
    for (size_t i = 0; i < json_array_size(texts) && lines != NULL; i++) {
        const json_t *text = json_array_get(texts, i);
        lines[i] = (struct clf_line){json_string_value(text), json_string_length(text)};
    }
    return lines;
}

/* Calls clf_translate_prefixed() with a translator of the request's options. */
static clf_status translate_lines(struct clf_translation **out, const struct v1_request *request,
                                  const json_t *texts, struct clf_engine *engine)
{
    struct clf_line *lines = list_lines(texts), *prefixes = list_lines(request->prefixes);
    struct clf_translator *translator = NULL;
    *out = NULL;
    clf_status status = lines != NULL && prefixes != NULL ? CLF_OK : no_memory();
    if (status == CLF_OK) {
        status = clf_translator_create_shared(&translator, engine, &request->options);
    }
    if (status == CLF_OK) {
        const struct clf_line *given = request->prefixes != NULL ? prefixes : NULL;
        status = clf_translate_prefixed(out, translator, lines, given, (int)json_array_size(texts));
    }
    clf_translator_free(translator);
    free(lines);
    free(prefixes);
    return status;
}

/* Translates each text as one line: the object of `clformer translate --json` for each. */
static clf_status translate_whole(json_t **out, struct job *job, const json_t *texts,
                                  const struct served_model *model)
{
    struct clf_translate_options *options = &job->request.options;
    int count = (int)json_array_size(texts), has_n_best = options->n_best > 1 || options->alternatives > 1;
    int has_parts = options->beam == 1 && options->n_best == 1 && options->alternatives == 0;
    struct clf_translation *translations;
    options->streamed = job->events != NULL && has_parts ? take_part : NULL;
    clf_status status = translate_lines(&translations, &job->request, texts, model->engine);
    json_t *array = status == CLF_OK ? json_array() : NULL;
    for (int i = 0; i < count && array != NULL; i++) {
        array = result_append(array, result_translation(model->first, &translations[i], has_n_best, NULL));
    }
    clf_translations_free(translations, count);
    *out = array;
    return status == CLF_OK && array == NULL ? no_memory() : status;
}

/* Translates through all models of the route; the options of the request apply to the last one. */
static clf_status translate(json_t **out, struct job *job)
{
    struct v1_request *request = &job->request;
    struct route before = request->route;
    const struct hop *last = &request->route.hops[--before.count];
    json_t *texts = NULL;
    *out = NULL;
    CLF__TRY(texts_translate(&texts, NULL, &(struct texts){request->texts, &before, NULL}));
    request->options.interrupted = is_over;
    request->options.payload = job;
    clf_status status = request->sentences ? translate_sentences(out, job, texts, last->model->engine)
                                           : translate_whole(out, job, texts, last->model);
    json_decref(texts);
    return status;
}

static json_t *list_models(const struct route *route)
{
    json_t *array = json_array();
    for (int i = 0; i < route->count; i++) {
        array = result_append(array, json_string(route->hops[i].model->name));
    }
    return array;
}

/* Returns the answer's object; NULL after setting *failure. */
static json_t *run(struct answer *failure, struct job *job)
{
    const struct v1_request *request = &job->request;
    json_t *translations;
    int64_t tokens = texts_estimate_tokens(request->texts);
    if (!service_enter(job->service, tokens, BUSY, failure)) {
        return NULL;
    }
    clf_status status = translate(&translations, job);
    service_leave(job->service, tokens);
    if (status != CLF_OK) {
        *failure = failure_answer(job->service, status);
        return NULL;
    }
    json_t *object =
        json_pack("{s:o, s:s, s:s, s:o}", "translations", translations, "source", request->source->code,
                  "target", request->target->code, "models", list_models(&request->route));
    if (object == NULL) {
        *failure = endpoints_error(500, "out of memory");
    } else if (!isnan(request->confidence)) {
        json_object_set_new(object, "confidence", json_real(request->confidence));
    }
    return object;
}

static void run_stream(struct event_stream *events, void *user)
{
    struct job *job = user;
    struct answer failure;
    job->events = events;
    json_t *object = run(&failure, job);
    if (object != NULL) {
        add_event(job, "done", object);
    } else {
        event_stream_add(events, answer_text(&failure));
    }
}

static void abandon(void *user)
{
    struct job *job = user;
    atomic_store(&job->is_abandoned, 1);
}

static void free_job(void *user)
{
    struct job *job = user;
    v1_request_free(&job->request);
    json_decref(job->lists);
    json_decref(job->missing);
    free(job->owners);
    free(job);
}

/* Answers a request whose fields are valid; frees the job. */
static struct answer start(struct job *job, struct MHD_Connection *connection)
{
    static const struct event_source source = {run_stream, abandon, free_job};
    size_t characters = q_field_characters(job->request.texts);
    struct answer answer;
    if (job->request.is_streamed) {
        if (!event_stream_start(&answer, &source, job, connection, job->service->limits.time)) {
            answer = endpoints_error(500, "the server cannot start a stream");
        }
    } else {
        json_t *object = run(&answer, job);
        if (object != NULL) {
            answer = (struct answer){.status = 200,
                                     .text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9))};
        }
        json_decref(object);
        free_job(job);
    }
    answer.characters = characters;
    return answer;
}

struct answer v1_translate(struct service *service, const struct fields *fields)
{
    struct job *job = calloc(1, sizeof *job);
    struct answer answer;
    if (job == NULL) {
        return endpoints_error(500, "out of memory");
    }
    job->service = service;
    if (!fields->is_json) {
        answer = endpoints_error(415, "Content-Type: must be application/json");
    } else if (request_is_admitted(service, fields, &answer) &&
               v1_request_read(&job->request, service, fields, &answer)) {
        return start(job, fields->connection);
    }
    free_job(job);
    return answer;
}
