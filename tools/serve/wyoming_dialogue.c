#include "serve/wyoming_dialogue.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "serve/client.h"
#include "serve/speech.h"
#include "serve/speech_results.h"
#include "serve/wyoming_audio.h"
#include "serve/wyoming_frames.h"
#include "serve/wyoming_info.h"
#include "shared/results.h"

/* Time for an event, for a part of its payload, and to take an answer. */
static const double PATIENCE_SECONDS = 60;
static const char not_stored[] = "the recording cannot be stored; the server's log has the reason";

struct dialogue {
    const struct wyoming_client *client;
    double end;  /* the time by which an utterance must be complete */
    double next; /* the time by which the client must send more */
    struct speech_model *model;
    const char *language; /* code, or NULL: detect it */
    struct wyoming_audio audio;
    int has_utterance;
    double stopped;  /* the time of audio-stop; 0: not yet */
    unsigned status; /* of the utterance, an HTTP status; 0: unknown */
    struct wyoming_stream stream;
};

/* --- Bytes --- */

/* Waits until the socket is ready or a time is reached; returns 1 if it is ready. */
static int wait_for(int socket, short events, double end)
{
    struct pollfd one = {.fd = socket, .events = events};
    int ready = -1;
    do {
        double left = end - clf__seconds();
        ready = left > 0 ? poll(&one, 1, 1 + (int)(1e3 * left)) : 0;
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

static ssize_t receive(void *user, char *out, size_t size)
{
    struct dialogue *dialogue = user;
    double end = dialogue->end < dialogue->next ? dialogue->end : dialogue->next;
    ssize_t count = -1;
    do {
        if (!wait_for(dialogue->client->socket, POLLIN, end)) {
            dialogue->status = 408;
            return -1;
        }
        count = recv(dialogue->client->socket, out, size, MSG_DONTWAIT);
    } while (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK));
    return count;
}

/* Sends an event, whose data is released; returns 0 if the client does not take it. */
static int send_event(const struct dialogue *dialogue, const char *type, json_t *data)
{
    size_t size = 0, sent = 0;
    char *frame = wyoming_frame(&size, type, data);
    double end = clf__seconds() + PATIENCE_SECONDS;
    int is_sent = frame != NULL;
    while (is_sent && sent < size) {
        is_sent = wait_for(dialogue->client->socket, POLLOUT, end);
        ssize_t count =
            is_sent ? send(dialogue->client->socket, frame + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : -1;
        is_sent = is_sent && (count >= 0 || errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK);
        sent += count > 0 ? (size_t)count : 0;
    }
    free(frame);
    return is_sent;
}

/* Sends an error, which most clients ignore, and ends the dialogue. */
static int refuse(struct dialogue *dialogue, unsigned status, const char *message)
{
    dialogue->status = status;
    send_event(dialogue, "error", json_pack("{s:o}", "text", result_text(message, strlen(message))));
    return 0;
}

/* --- The utterance --- */

/* Begins an utterance with its first event; returns 0 to end the dialogue. */
static int begin(struct dialogue *dialogue)
{
    const struct wyoming_client *client = dialogue->client;
    int limit;
    if (dialogue->has_utterance) {
        return 1;
    }
    if (!client->begin(client->user)) {
        return 0;
    }
    dialogue->has_utterance = 1;
    if (client->service->metrics != NULL) {
        metrics_begin(client->service->metrics);
    }
    return clients_admit(&limit, client->service->clients, NULL, client->address, 1) == CLIENT_IS_ADMITTED
               ? 1
               : refuse(dialogue, 429, "too many requests; try again in a minute");
}

/* Returns 1 if the server has ended the connection because the time for running requests is over. */
static int is_given_up(const struct service *service)
{
    return service->request_is_over(NULL); /* without a client, which client_set_socket() sets */
}

/* Logs and counts the utterance, if there is one. */
static void finish(struct dialogue *dialogue)
{
    const struct wyoming_client *client = dialogue->client;
    const struct service *service = client->service;
    double seconds = dialogue->stopped > 0 ? clf__seconds() - dialogue->stopped : 0;
    if (!dialogue->has_utterance) {
        return;
    }
    if (dialogue->status == 0) { /* its events ended */
        dialogue->status = !dialogue->stream.is_over ? 400 : is_given_up(service) ? 503 : CLIENT_IS_GONE;
    }
    if (service->metrics != NULL) {
        metrics_end(service->metrics, "wyoming", dialogue->status, seconds);
    }
    if (service->log != NULL) {
        access_log_write(service->log, &(struct access){.request = "wyoming transcribe",
                                                        .address = client->address,
                                                        .status = dialogue->status,
                                                        .seconds = seconds,
                                                        .is_lost = dialogue->status == CLIENT_IS_GONE});
    }
    client->end(client->user);
}

/* Sends the transcript and ends the dialogue. */
static int send_transcript(struct dialogue *dialogue, const char *text, const char *language)
{
    json_t *data = json_pack("{s:o}", "text", result_text(text, strlen(text)));
    if (language != NULL) {
        json_object_set_new(data, "language", json_string(language));
    }
    dialogue->status = send_event(dialogue, "transcript", data) ? 200 : CLIENT_IS_GONE;
    return 0;
}

/* Transcribes the recording; *text is freed by free(). */
static clf_status transcribe(char **text, struct clf_transcript **out, struct speech_task *task, int file)
{
    clf_status status = speech_task_open(task, file, 0);
    status = status == CLF_OK ? speech_task_begin(task) : status;
    status = status == CLF_OK ? speech_task_run(task, out) : status;
    *text = status == CLF_OK ? speech_text(*out, "") : NULL;
    return status;
}

static int answer_stop(struct dialogue *dialogue)
{
    struct service *service = dialogue->client->service;
    struct clf_transcript *transcript = NULL;
    struct speech_task task;
    uint64_t frames;
    char *text;
    dialogue->stopped = clf__seconds();
    if (!wyoming_audio_end(&frames, &dialogue->audio)) {
        return refuse(dialogue, 500, not_stored);
    }
    if (frames == 0) {
        return send_transcript(dialogue, "", dialogue->language);
    }
    speech_task_init(&task, service, dialogue->model);
    task.options.language = dialogue->language;
    client_set_socket(dialogue->client->socket, service->limits.time);
    clf_status status = transcribe(&text, &transcript, &task, dialogue->audio.file);
    struct speech_failure failure = {.status = 500, .message = "out of memory"};
    if (status != CLF_OK) {
        failure = speech_task_failure(&task, status);
    }
    client_set_socket(-1, 0);
    failure.status = status == CLF_INTERRUPTED && is_given_up(service) ? 503 : failure.status;
    speech_task_end(&task);
    if (text != NULL) {
        send_transcript(dialogue, text, transcript->language);
    } else {
        refuse(dialogue, failure.status, failure.message);
    }
    clf_transcript_free(transcript);
    free(text);
    return 0;
}

/* --- Events; each function returns 0 to end the dialogue --- */

/* Reads a name, which may be missing; returns 0 if it is not text. */
static int read_name(const char **name, const json_t *data, const char *member)
{
    const json_t *value = json_object_get(data, member);
    *name = json_string_length(value) > 0 ? json_string_value(value) : NULL;
    return value == NULL || json_is_null(value) || json_is_string(value);
}

static int take_transcribe(struct dialogue *dialogue, const json_t *data)
{
    const char *name, *language;
    if (!begin(dialogue) || !read_name(&name, data, "name") || !read_name(&language, data, "language")) {
        return 0;
    }
    struct speech_model *model = speech_models_find(dialogue->client->service->speech, name);
    if (model == NULL) {
        return refuse(dialogue, 404, "transcribe: the server does not have this model");
    }
    dialogue->model = model;
    return speech_language(&dialogue->language, language)
               ? 1
               : refuse(dialogue, 400, "transcribe: the language is unknown; use a code such as fr");
}

static int take_chunk(struct dialogue *dialogue, const struct wyoming_event *event)
{
    char bytes[1 << 14];
    if (!begin(dialogue) || !wyoming_audio_format(&dialogue->audio, event->data)) {
        return 0;
    }
    if (event->payload > dialogue->client->most_audio - dialogue->audio.size) {
        return refuse(dialogue, 413, "the recording is too long");
    }
    for (uint64_t left = event->payload; left > 0;) {
        dialogue->next = clf__seconds() + PATIENCE_SECONDS;
        size_t count =
            wyoming_read_payload(&dialogue->stream, bytes, left < sizeof bytes ? left : sizeof bytes);
        if (count == 0) {
            return 0;
        }
        if (!wyoming_audio_add(&dialogue->audio, bytes, count)) {
            return refuse(dialogue, 500, not_stored);
        }
        left -= count;
    }
    return 1;
}

/* Reads a payload that has no use here. */
static int skip_payload(struct dialogue *dialogue, uint64_t size)
{
    char bytes[1 << 12];
    size_t count = 1;
    for (uint64_t left = size; left > 0 && count > 0; left -= count) {
        dialogue->next = clf__seconds() + PATIENCE_SECONDS;
        count = wyoming_read_payload(&dialogue->stream, bytes, left < sizeof bytes ? left : sizeof bytes);
    }
    return size <= dialogue->client->most_audio && count > 0;
}

static int take_event(struct dialogue *dialogue, const struct wyoming_event *event)
{
    const char *type = event->type;
    if (strcmp(type, "audio-chunk") == 0) {
        return take_chunk(dialogue, event);
    }
    if (!skip_payload(dialogue, event->payload)) {
        return 0;
    }
    if (strcmp(type, "describe") == 0) {
        return send_event(dialogue, "info", wyoming_info(dialogue->client->service->speech));
    }
    if (strcmp(type, "ping") == 0) {
        json_t *text = json_object_get(event->data, "text");
        return send_event(dialogue, "pong", json_pack("{s:O?}", "text", text));
    }
    if (strcmp(type, "transcribe") == 0) {
        return take_transcribe(dialogue, event->data);
    }
    if (strcmp(type, "audio-start") == 0) {
        return begin(dialogue);
    }
    return strcmp(type, "audio-stop") == 0 ? begin(dialogue) && answer_stop(dialogue) : 1;
}

void wyoming_dialogue(const struct wyoming_client *client)
{
    struct dialogue *dialogue = calloc(1, sizeof *dialogue);
    struct wyoming_event event;
    int continues = dialogue != NULL;
    if (dialogue == NULL) {
        return;
    }
    dialogue->client = client;
    dialogue->end = clf__seconds() + client->service->limits.time;
    dialogue->model = speech_models_at(client->service->speech, 0);
    dialogue->audio.file = -1;
    dialogue->stream.read = receive;
    dialogue->stream.user = dialogue;
    while (continues) {
        dialogue->next = clf__seconds() + PATIENCE_SECONDS;
        continues = wyoming_read_event(&event, &dialogue->stream);
        if (continues) {
            continues = take_event(dialogue, &event);
            wyoming_event_free(&event);
        }
    }
    finish(dialogue);
    wyoming_audio_close(&dialogue->audio);
    free(dialogue);
}
