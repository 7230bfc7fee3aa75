#include "serve/speech_stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/client.h"
#include "serve/openai.h"
#include "serve/speech_results.h"
#include "shared/results.h"
#include "text/tokenizers/speech.h"

enum { BLOCK_BYTES = 4096, KEEP_ALIVE_SECONDS = 15 };

/* A growing text. */
struct text {
    char *bytes;
    size_t size, capacity;
};

/* The thread of the job appends events, the thread of the connection sends them. */
struct stream {
    struct openai_job *job;
    struct MHD_Connection *connection;
    pthread_t thread;
    struct text spoken;   /* the text so far, used by the thread of the job */
    size_t sent;          /* bytes of it in events */
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    struct text events; /* not sent yet */
    int is_complete;
};

static int append(struct text *text, const char *bytes, size_t size)
{
    if (text->size + size > text->capacity) {
        size_t capacity = 2 * (text->size + size);
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) {
            return 0;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return 1;
}

/* Adds an event of JSON, which is freed. */
static void add_event(struct stream *stream, char *json)
{
    int is_added = json != NULL;
    pthread_mutex_lock(&stream->lock);
    is_added = is_added && append(&stream->events, "data: ", 6) &&
               append(&stream->events, json, strlen(json)) && append(&stream->events, "\n\n", 2);
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (!is_added) {
        atomic_store(&stream->job->task.is_abandoned, 1); /* out of memory */
    }
    free(json);
}

/* Adds the text of a segment, except white space at its end, which may be the end of the transcript. */
void speech_stream_segment(const struct clf_segment *segment, void *user)
{
    struct stream *stream = user;
    struct text *spoken = &stream->spoken;
    if (!append(spoken, segment->text, strlen(segment->text) + 1)) {
        atomic_store(&stream->job->task.is_abandoned, 1); /* out of memory */
        return;
    }
    spoken->size--; /* the NUL */
    size_t size;
    const char *text = clf__speech_strip(&size, spoken->bytes);
    size_t start = (size_t)(text - spoken->bytes), end = start + size;
    start = stream->sent > start ? stream->sent : start;
    if (end > start) {
        add_event(stream, speech_json(json_pack("{s:s, s:o}", "type", "transcript.text.delta", "delta",
                                                result_text(spoken->bytes + start, end - start))));
        stream->sent = end;
    }
}

static void add_end(struct stream *stream)
{
    size_t size = 0;
    const char *text = stream->spoken.size > 0 ? clf__speech_strip(&size, stream->spoken.bytes) : "";
    add_event(stream,
              speech_json(json_pack("{s:s, s:o, s:o}", "type", "transcript.text.done", "text",
                                    result_text(text, size), "usage", openai_usage(&stream->job->task))));
}

static void *run(void *user)
{
    struct stream *stream = user;
    struct speech_task *task = &stream->job->task;
    struct clf_transcript *transcript = NULL;
    client_set(stream->connection, stream->job->task.service->limits.time);
    clf_status status = speech_task_run(task, &transcript);
    clf_transcript_free(transcript);
    if (status == CLF_OK) {
        add_end(stream);
    } else {
        struct speech_failure failure = speech_task_failure(task, status);
        add_event(stream, openai_error_text(failure.status, failure.field, NULL, failure.message));
    }
    speech_task_end(task); /* the turn of the next request */
    client_set(NULL, 0);
    pthread_mutex_lock(&stream->lock);
    stream->is_complete = 1;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* Called by libmicrohttpd for the next bytes, on the thread of the connection. A comment keeps the connection
 * alive while there is no event. */
static ssize_t read_events(void *user, uint64_t position, char *bytes, size_t most)
{
    static const char comment[] = ": \n\n";
    struct stream *stream = user;
    struct timespec end;
    int error = 0;
    (void)position;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += KEEP_ALIVE_SECONDS;
    pthread_mutex_lock(&stream->lock);
    while (stream->events.size == 0 && !stream->is_complete && error == 0) {
        error = pthread_cond_timedwait(&stream->changed, &stream->lock, &end);
    }
    struct text *events = &stream->events;
    size_t size = events->size < most ? events->size : most;
    int is_over = events->size == 0 && stream->is_complete;
    if (size > 0) {
        memcpy(bytes, events->bytes, size);
        memmove(events->bytes, events->bytes + size, events->size - size);
        events->size -= size;
    } else if (!is_over) {
        size = strlen(comment);
        memcpy(bytes, comment, size);
    }
    pthread_mutex_unlock(&stream->lock);
    return is_over ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)size;
}

static void free_stream(struct stream *stream)
{
    openai_job_free(stream->job);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream->spoken.bytes);
    free(stream->events.bytes);
    free(stream);
}

/* Called by libmicrohttpd when the answer is sent or its client is gone. */
static void end_stream(void *user)
{
    struct stream *stream = user;
    atomic_store(&stream->job->task.is_abandoned, 1);
    pthread_join(stream->thread, NULL);
    free_stream(stream);
}

struct answer speech_stream_answer(struct openai_job *job, struct MHD_Connection *connection)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        openai_job_free(job);
        return openai_problem(500, "out of memory");
    }
    stream->job = job;
    stream->connection = connection;
    job->task.user = stream;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    if (pthread_create(&stream->thread, NULL, run, stream) != 0) {
        free_stream(stream);
        return openai_problem(500, "the server cannot start a thread");
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_events, stream, end_stream);
    if (response == NULL) {
        end_stream(stream);
        return openai_problem(500, "out of memory");
    }
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx sends events at once */
    return (struct answer){.status = 200, .response = response};
}
