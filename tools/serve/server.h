/* The HTTP server, which uses libmicrohttpd with a thread per connection. */
#ifndef CLF_TOOLS_SERVE_SERVER_H
#define CLF_TOOLS_SERVE_SERVER_H

#include "serve/endpoints.h"

enum {
    SERVER_MOST_CONNECTIONS = 1024, /* further connections are closed at once */
    /* Translations that run or wait. The other connections serve quick requests and reject translations while
     * the server is busy; at a thousand requests per second, hundreds are open. */
    SERVER_MOST_REQUESTS = 384
};

struct server_options {
    size_t max_body;   /* maximum bytes of a request body */
    size_t max_upload; /* maximum bytes of a form with a recording */
};

struct server;

/* Starts to answer connections on a listening socket, which the server closes. The service is borrowed.
 * CLF_OUT_OF_MEMORY: libmicrohttpd fails. */
clf_status server_start(struct server **out, int listening, struct service *service,
                        const struct server_options *options);

/* Stops accepting connections, waits until the running requests of the service are answered or `grace`
 * seconds have passed, calls `give_up` and closes the connections. */
void server_stop(struct server *server, double grace, void (*give_up)(void));

#endif
