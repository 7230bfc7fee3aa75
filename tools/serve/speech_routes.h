/* The endpoints for speech: of OpenAI, whisper.cpp's server and whisper-asr-webservice. */
#ifndef CLF_TOOLS_SERVE_SPEECH_ROUTES_H
#define CLF_TOOLS_SERVE_SPEECH_ROUTES_H

#include "serve/endpoints.h"
#include "serve/upload.h"

struct speech_route;

/* A request to an endpoint. */
struct speech_request {
    struct MHD_Connection *connection;
    const char *rest;      /* the path after that of the endpoint, without a slash */
    struct upload *upload; /* NULL for GET; an endpoint that keeps it sets NULL */
};

/* Returns the endpoint of a path, with or without the prefix of its API, or NULL. *rest receives a pointer
 * into the path. */
const struct speech_route *speech_route_find(const char *path, const char **rest);
/* Returns the path of an endpoint. */
const char *speech_route_name(const struct speech_route *route);
/* Prepares for the body of a POST, which is ignored if the client is not admitted; *out is NULL if the
 * endpoint has only GET. Returns 0 if out of memory. */
int speech_route_upload(struct upload **out, const struct speech_route *route, const struct service *service,
                        struct MHD_Connection *connection, const struct upload_limits *limits);
struct answer speech_route_answer(struct service *service, const struct speech_route *route,
                                  const char *method, struct speech_request *request);
struct answer speech_route_too_large(const struct speech_route *route, size_t limit);

#endif
