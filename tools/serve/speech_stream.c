#include "serve/speech_stream.h"

#include <stdlib.h>
#include <string.h>

#include "serve/events.h"
#include "serve/openai.h"
#include "serve/speech_results.h"
#include "shared/results.h"
#include "text/tokenizers/speech.h"

/* The transcript so far; used by the thread of the events. */
struct speech_stream {
    struct openai_job *job;
    struct event_stream *events;
    char *text; /* (size), followed by NUL */
    size_t size, capacity;
    size_t sent; /* bytes of it in events */
};

/* Appends a text; returns 0 if out of memory. */
static int append(struct speech_stream *stream, const char *text)
{
    size_t size = strlen(text);
    if (stream->size + size + 1 > stream->capacity) {
        size_t capacity = 2 * (stream->size + size + 1);
        char *grown = realloc(stream->text, capacity);
        if (grown == NULL) {
            return 0;
        }
        stream->text = grown;
        stream->capacity = capacity;
    }
    memcpy(stream->text + stream->size, text, size + 1);
    stream->size += size;
    return 1;
}

/* Adds the text of a segment, except white space at its end, which may be the end of the transcript. */
void speech_stream_segment(const struct clf_segment *segment, void *user)
{
    struct speech_stream *stream = user;
    if (!append(stream, segment->text)) {
        event_stream_add(stream->events, NULL); /* out of memory */
        return;
    }
    size_t size;
    const char *text = clf__speech_strip(&size, stream->text);
    size_t start = (size_t)(text - stream->text), end = start + size;
    start = stream->sent > start ? stream->sent : start;
    if (end > start) {
        event_stream_add(stream->events,
                         speech_json(json_pack("{s:s, s:o}", "type", "transcript.text.delta", "delta",
                                               result_text(stream->text + start, end - start))));
        stream->sent = end;
    }
}

static void add_end(struct speech_stream *stream)
{
    size_t size = 0;
    const char *text = stream->size > 0 ? clf__speech_strip(&size, stream->text) : "";
    event_stream_add(stream->events, speech_json(json_pack("{s:s, s:o, s:o}", "type", "transcript.text.done",
                                                           "text", result_text(text, size), "usage",
                                                           openai_usage(&stream->job->task))));
}

static void run(struct event_stream *events, void *user)
{
    struct speech_stream *stream = user;
    struct speech_task *task = &stream->job->task;
    struct clf_transcript *transcript = NULL;
    stream->events = events;
    clf_status status = speech_task_run(task, &transcript);
    clf_transcript_free(transcript);
    if (status == CLF_OK) {
        add_end(stream);
    } else {
        struct speech_failure failure = speech_task_failure(task, status);
        event_stream_add(events, openai_error_text(failure.status, failure.field, NULL, failure.message));
    }
    speech_task_end(task); /* the turn of the next request */
}

static void abandon(void *user)
{
    struct speech_stream *stream = user;
    atomic_store(&stream->job->task.is_abandoned, 1);
}

static void release(void *user)
{
    struct speech_stream *stream = user;
    openai_job_free(stream->job);
    free(stream->text);
    free(stream);
}

struct answer speech_stream_answer(struct openai_job *job, struct MHD_Connection *connection)
{
    static const struct event_source source = {run, abandon, release};
    struct speech_stream *stream = calloc(1, sizeof *stream);
    struct answer answer;
    double seconds = job->task.service->limits.time;
    if (stream == NULL) {
        openai_job_free(job);
        return openai_problem(500, "out of memory");
    }
    stream->job = job;
    job->task.user = stream;
    return event_stream_start(&answer, &source, stream, connection, seconds)
               ? answer
               : openai_problem(500, "the server cannot start a stream");
}
