#include "serve/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/client.h"

enum { BLOCK_BYTES = 4096, KEEP_ALIVE_SECONDS = 15 };

/* The thread of the source appends events, the thread of the connection sends them. */
struct event_stream {
    const struct event_source *source;
    void *user;
    struct MHD_Connection *connection;
    double seconds;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    char *bytes; /* (size) not sent yet */
    size_t size, capacity;
    int is_complete;
};

/* Appends bytes; returns 0 if out of memory. */
static int append(struct event_stream *stream, const char *bytes, size_t size)
{
    if (stream->size + size > stream->capacity) {
        size_t capacity = 2 * (stream->size + size);
        char *grown = realloc(stream->bytes, capacity);
        if (grown == NULL) {
            return 0;
        }
        stream->bytes = grown;
        stream->capacity = capacity;
    }
    memcpy(stream->bytes + stream->size, bytes, size);
    stream->size += size;
    return 1;
}

void event_stream_add(struct event_stream *stream, char *json)
{
    int is_added = json != NULL;
    pthread_mutex_lock(&stream->lock);
    is_added = is_added && append(stream, "data: ", 6) && append(stream, json, strlen(json)) &&
               append(stream, "\n\n", 2);
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (!is_added) {
        stream->source->abandon(stream->user);
    }
    free(json);
}

static void *run(void *user)
{
    struct event_stream *stream = user;
    client_set(stream->connection, stream->seconds);
    stream->source->run(stream, stream->user);
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
    struct event_stream *stream = user;
    struct timespec end;
    int error = 0;
    (void)position;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += KEEP_ALIVE_SECONDS;
    pthread_mutex_lock(&stream->lock);
    while (stream->size == 0 && !stream->is_complete && error == 0) {
        error = pthread_cond_timedwait(&stream->changed, &stream->lock, &end);
    }
    size_t size = stream->size < most ? stream->size : most;
    int is_over = stream->size == 0 && stream->is_complete;
    if (size > 0) {
        memcpy(bytes, stream->bytes, size);
        memmove(stream->bytes, stream->bytes + size, stream->size - size);
        stream->size -= size;
    } else if (!is_over) {
        size = strlen(comment);
        memcpy(bytes, comment, size);
    }
    pthread_mutex_unlock(&stream->lock);
    return is_over ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)size;
}

static void free_stream(struct event_stream *stream)
{
    stream->source->release(stream->user);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream->bytes);
    free(stream);
}

/* Called by libmicrohttpd when the answer is sent or its client is gone. */
static void end_stream(void *user)
{
    struct event_stream *stream = user;
    stream->source->abandon(stream->user);
    pthread_join(stream->thread, NULL);
    free_stream(stream);
}

int event_stream_start(struct answer *answer, const struct event_source *source, void *user,
                       struct MHD_Connection *connection, double seconds)
{
    struct event_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        source->release(user);
        return 0;
    }
    *stream =
        (struct event_stream){.source = source, .user = user, .connection = connection, .seconds = seconds};
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    if (pthread_create(&stream->thread, NULL, run, stream) != 0) {
        free_stream(stream);
        return 0;
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_events, stream, end_stream);
    if (response == NULL) {
        end_stream(stream);
        return 0;
    }
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx sends events at once */
    *answer = (struct answer){.status = 200, .response = response};
    return 1;
}
