/* The dialogue with a Wyoming client over one connection. */
#ifndef CLF_TOOLS_SERVE_WYOMING_DIALOGUE_H
#define CLF_TOOLS_SERVE_WYOMING_DIALOGUE_H

#include "serve/endpoints.h"

struct wyoming_client {
    struct service *service;
    int socket;
    uint64_t most_audio; /* maximum bytes of the samples of an utterance */
    char address[CLIENT_ADDRESS_BYTES];
    int (*begin)(void *user); /* called when an utterance begins; 0: the server is stopping */
    void (*end)(void *user);  /* called when it is answered or given up */
    void *user;
};

/* Answers a client until the connection has to be closed: after an utterance, an invalid event, or a time
 * without an event. */
void wyoming_dialogue(const struct wyoming_client *client);

#endif
