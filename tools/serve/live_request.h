/* Live transcription over HTTP: /v1/transcribe/live. */
#ifndef CLF_TOOLS_SERVE_LIVE_REQUEST_H
#define CLF_TOOLS_SERVE_LIVE_REQUEST_H

#include "serve/endpoints.h"

/* Opens a session. */
struct answer live_open(struct service *service, const struct fields *fields);
/* Adds samples to the session fields->rest. */
struct answer live_send(struct service *service, const struct fields *fields);
/* Answers with the events of the session. */
struct answer live_read(struct service *service, const struct fields *fields);

#endif
