#include "serve/live_request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/decoder.h"
#include "base/status.h"
#include "serve/client.h"
#include "serve/events.h"
#include "serve/live_sessions.h"
#include "serve/q_field.h"
#include "serve/speech.h"
#include "serve/speech_results.h"
#include "shared/results.h"

enum { BLOCK = 4096, RETRY_SECONDS = 10 }; /* samples; the answer of a full server */

static const char *text_of(const struct fields *fields, const char *name)
{
    const char *text = json_string_value(json_object_get(fields->object, name));
    return text != NULL && *text != '\0' ? text : NULL;
}

/* Reads a number from `low` to `high`; returns 0 after setting the answer. */
static int read_number(double *out, const struct fields *fields, const char *name, double low, double high,
                       struct answer *answer)
{
    const char *text = text_of(fields, name);
    char *end;
    if (text == NULL) {
        return 1;
    }
    *out = strtod(text, &end);
    if (*end != '\0' || !(*out >= low && *out <= high)) {
        *answer =
            endpoints_error(400, "%s: must be a number from %g to %g, not %.64s", name, low, high, text);
        return 0;
    }
    return 1;
}

static int read_switch(int *out, const struct fields *fields, const char *name, struct answer *answer)
{
    const char *text = text_of(fields, name);
    int is_true = text != NULL && strcmp(text, "true") == 0;
    if (text != NULL && !is_true && strcmp(text, "false") != 0) {
        *answer = endpoints_error(400, "%s: must be true or false, not %.64s", name, text);
        return 0;
    }
    *out = is_true;
    return 1;
}

/* Polled between the steps of a transcription, on the thread of the events. */
static int interrupted(void *user)
{
    const struct live_session *session = user;
    return atomic_load(&session->is_abandoned) || session->service->request_is_over(NULL);
}

/* Sets the options of a session from the query; returns 0 after setting the answer. */
static int read_query(struct live_session *session, struct clf_live_options *live, struct service *service,
                      const struct fields *fields, struct answer *answer)
{
    static const char *const names[] = {"model", "language", "task",     "prompt", "rate",
                                        "step",  "vad",      "unstable", "api_key"};
    const char *name, *model = text_of(fields, "model"), *language = text_of(fields, "language"),
                      *task = text_of(fields, "task"), *prompt = text_of(fields, "prompt");
    json_t *value;
    double rate = CLF_AUDIO_RATE;
    json_object_foreach(fields->object, name, value)
    {
        size_t i = 0;
        while (i < sizeof names / sizeof *names && strcmp(names[i], name) != 0) {
            i++;
        }
        if (i == sizeof names / sizeof *names) {
            *answer = endpoints_error(400, "%.64s: unknown field; /openapi.json lists the fields", name);
            return 0;
        }
    }
    session->service = service;
    session->model = speech_models_find(service->speech, model);
    if (session->model == NULL) {
        *answer = endpoints_error(404, "model: %.64s does not exist", model);
        return 0;
    }
    clf_transcribe_options_init(&session->options);
    clf_live_options_init(live);
    session->options.interrupted = interrupted;
    session->options.payload = session;
    if (prompt != NULL && (session->prompt = strdup(prompt)) == NULL) {
        *answer = endpoints_error(500, "out of memory");
        return 0;
    }
    session->options.initial_prompt = session->prompt;
    session->options.translate = task != NULL && strcmp(task, "translate") == 0;
    if (task != NULL && !session->options.translate && strcmp(task, "transcribe") != 0) {
        *answer = endpoints_error(400, "task: must be transcribe or translate, not %.64s", task);
        return 0;
    }
    if (!speech_language(&session->options.language, language)) {
        *answer =
            endpoints_error(400, "language: %.64s is unknown; use an ISO 639-1 code such as fr", language);
        return 0;
    }
    if (!read_number(&rate, fields, "rate", CLF__LEAST_RATE, CLF__MOST_RATE, answer) ||
        !read_number(&live->step, fields, "step", 0.1, 10, answer) ||
        !read_switch(&session->options.vad, fields, "vad", answer) ||
        !read_switch(&live->unstable, fields, "unstable", answer)) {
        return 0;
    }
    session->rate = (int)rate;
    return 1;
}

/* Describes why a session cannot be opened; messages of the library may contain the folder of a model. */
static struct answer refuse(const struct live_session *session, clf_status status)
{
    const char *name = speech_model_name(session->model);
    if (status == CLF_BAD_ARGUMENT && session->options.translate &&
        speech_model_is_english_only(session->model)) {
        return endpoints_error(400, "task: the model %s is English-only and cannot translate", name);
    }
    if (status == CLF_BAD_ARGUMENT && session->options.language != NULL) {
        return endpoints_error(400, "language: the model %s does not support %s", name,
                               session->options.language);
    }
    if (status == CLF_TEXT) {
        return endpoints_error(400, "prompt: %s", clf_last_error());
    }
    fprintf(stderr, "clformer: a request failed: %s\n", clf_last_error());
    return endpoints_error(500, "the session cannot be opened; see the server's log");
}

/* Describes why the list takes no further session. */
static struct answer answer_no_room(enum live_result result)
{
    struct answer answer = result == LIVE_IS_FULL
                               ? endpoints_error(429, "the server has %d live sessions; try again later",
                                                 (int)LIVE_MOST_SESSIONS)
                           : result == LIVE_HAS_BAD_RATE ? endpoints_error(400, "rate: %s", clf_last_error())
                                                         : endpoints_error(500, "out of memory");
    answer.retry_after = result == LIVE_IS_FULL ? RETRY_SECONDS : 0;
    return answer;
}

/* Opens a session that has its options; the list then owns it. */
static struct answer open_session(struct live_session *session, const struct clf_live_options *live)
{
    char id[LIVE_ID_BYTES];
    const char *name = speech_model_name(session->model);
    int rate = session->rate;
    clf_status status = speech_model_transcriber(&session->transcriber, session->model, &session->options);
    if (status == CLF_OK) {
        status = clf_live_open(&session->live, session->transcriber, live);
    }
    enum live_result result = LIVE_HAS_FAILED;
    if (status == CLF_OK) {
        result = live_sessions_add(id, session->service->live, session);
        if (result == LIVE_DONE) { /* another thread may free the session */
            json_t *opened = json_pack("{s:s, s:s, s:i}", "id", id, "model", name, "rate", rate);
            return (struct answer){.status = 200, .text = speech_json(opened)};
        }
    }
    struct answer answer = status == CLF_OK ? answer_no_room(result) : refuse(session, status);
    live_session_free(session);
    return answer;
}

struct answer live_open(struct service *service, const struct fields *fields)
{
    struct clf_live_options live;
    struct answer answer;
    if (fields->is_json) {
        return endpoints_error(415, "Content-Type: send the fields in the query");
    }
    if (!request_is_admitted(service, fields, &answer)) {
        return answer;
    }
    struct live_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return endpoints_error(500, "out of memory");
    }
    if (!read_query(session, &live, service, fields, &answer)) {
        live_session_free(session);
        return answer;
    }
    return open_session(session, &live);
}

static struct answer answer_failure(enum live_result result)
{
    static const struct {
        unsigned status;
        const char *message;
    } answers[] = {
        [LIVE_IS_UNKNOWN] = {404, "no such session"},
        [LIVE_IS_FULL] = {429, "60 seconds of audio wait in the session; send no faster than real time"},
        [LIVE_IS_OVER] = {409, "the session takes no more samples, or its events are already read"},
        [LIVE_HAS_FAILED] = {500, "out of memory"},
    };
    struct answer answer = endpoints_error(answers[result].status, "%s", answers[result].message);
    answer.retry_after = result == LIVE_IS_FULL ? 1 : 0;
    return answer;
}

struct answer live_send(struct service *service, const struct fields *fields)
{
    struct answer answer;
    double waiting = 0;
    int ends = 0;
    if (!read_switch(&ends, fields, "end", &answer)) {
        return answer;
    }
    enum live_result result =
        live_sessions_send(&waiting, service->live, fields->rest, fields->body, fields->body_size, ends);
    return result == LIVE_DONE
               ? (struct answer){.status = 200, .text = speech_json(json_pack("{s:f}", "waiting", waiting))}
               : answer_failure(result);
}

/* --- The events --- */

/* Returns an event as text, with the precision of the command, and releases it. */
static char *event_text(json_t *event)
{
    char *text = event != NULL ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(event);
    return text;
}

static void add_events(struct event_stream *events, const struct live_session *session)
{
    const struct clf_live_event *event;
    while ((event = clf_live_take(session->live)) != NULL) {
        event_stream_add(events, event_text(result_live_event(event)));
    }
}

/* Transcribes what arrives, on the thread of the events. */
static clf_status transcribe(struct event_stream *events, struct live_session *session, double *seconds)
{
    struct live_sessions *sessions = session->service->live;
    float samples[BLOCK];
    size_t count, waiting;
    while (live_sessions_take(samples, &count, &waiting, BLOCK, sessions, session) &&
           !atomic_load(&session->service->is_stopping)) {
        CLF__TRY(interrupted(session) ? CLF_INTERRUPTED : CLF_OK);
        clf_status status = clf_live_feed(session->live, samples, count, waiting);
        add_events(events, session);
        CLF__TRY(status);
        *seconds += (double)count / CLF_AUDIO_RATE;
    }
    clf_status status = clf_live_finish(session->live);
    add_events(events, session);
    return status;
}

static void run(struct event_stream *events, void *user)
{
    struct live_session *session = user;
    double seconds = 0;
    clf_status status = transcribe(events, session, &seconds);
    speech_model_add_seconds(session->model, seconds);
    if (status == CLF_OK) {
        event_stream_add(events, event_text(json_pack("{s:s, s:f}", "type", "done", "received", seconds)));
    } else {
        if (status != CLF_INTERRUPTED) {
            fprintf(stderr, "clformer: a request failed: %s\n", clf_last_error());
        }
        event_stream_add(events, speech_json(json_pack("{s:s, s:s}", "type", "error", "error",
                                                       "the transcription failed; see the server's log")));
    }
}

static void abandon(void *user)
{
    struct live_session *session = user;
    atomic_store(&session->is_abandoned, 1);
}

static void release(void *user)
{
    struct live_session *session = user;
    live_sessions_end(session->service->live, session);
}

struct answer live_read(struct service *service, const struct fields *fields)
{
    static const struct event_source source = {run, abandon, release};
    struct live_session *session;
    struct answer answer;
    enum live_result result = live_sessions_read(&session, service->live, fields->rest);
    if (result != LIVE_DONE) {
        return answer_failure(result);
    }
    return event_stream_start(&answer, &source, session, fields->connection, INFINITY)
               ? answer
               : endpoints_error(500, "the server cannot start a stream");
}
