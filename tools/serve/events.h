/* Answers of server-sent events, which a thread of the answer produces. */
#ifndef CLF_TOOLS_SERVE_EVENTS_H
#define CLF_TOOLS_SERVE_EVENTS_H

#include "serve/endpoints.h"

struct event_stream;

struct event_source {
    /* Produces the events, on a thread with client_set(). */
    void (*run)(struct event_stream *stream, void *user);
    /* Makes run() return soon, because the client is gone; called on another thread. */
    void (*abandon)(void *user);
    /* Frees `user` when the answer is sent or has failed. */
    void (*release)(void *user);
};

/* Starts the thread. Returns 0 if that fails, after releasing `user`.
 *
 * @param source outlives the answer.
 * @param seconds the time for the request. */
int event_stream_start(struct answer *answer, const struct event_source *source, void *user,
                       struct MHD_Connection *connection, double seconds);

/* Adds an event of JSON text, which is freed. If memory is exhausted, also for a NULL text, the stream is
 * abandoned. */
void event_stream_add(struct event_stream *stream, char *json);

#endif
