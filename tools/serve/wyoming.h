/* A server for Home Assistant's speech recognition: the Wyoming protocol over TCP. */
#ifndef CLF_TOOLS_SERVE_WYOMING_H
#define CLF_TOOLS_SERVE_WYOMING_H

#include "serve/endpoints.h"

/* Further connections are closed at once. */
enum { WYOMING_MOST_CONNECTIONS = 64 };

struct wyoming;

/* Starts to answer the connections of a listening socket, which the server closes. The service is borrowed;
 * it has speech models.
 *
 * @param most_audio maximum bytes of the samples of an utterance. */
clf_status wyoming_start(struct wyoming **out, int listening, struct service *service, uint64_t most_audio);
/* Stops accepting connections, and closes those without an utterance. Utterances that have begun are answered
 * until wyoming_free(). NULL is ignored. */
void wyoming_stop(struct wyoming *wyoming);
/* Ends all connections. */
void wyoming_free(struct wyoming *wyoming);

#endif
