#include "serve/failures.h"

#include <stdio.h>

#include "serve/client.h"
#include "serve/server.h"

struct answer failure_answer(const struct service *service, clf_status status)
{
    if (status == CLF_TEXT || status == CLF_BAD_ARGUMENT) {
        return endpoints_error(400, "Invalid request: %s", clf_last_error());
    }
    if (status == CLF_INTERRUPTED && client_is_gone()) {
        return endpoints_error(CLIENT_IS_GONE, "The client has closed the connection");
    }
    if (status == CLF_INTERRUPTED && atomic_load(&service->is_stopping)) {
        return endpoints_error(503, "The server is stopping");
    }
    if (status == CLF_INTERRUPTED && client_is_late()) {
        return endpoints_error(504, "The request exceeded the time limit of %.0f s; send less text",
                               service->limits.time);
    }
    fprintf(stderr, "clformer: a request failed: %s\n", clf_last_error());
    return endpoints_error(500, "The translation failed; see the server's log");
}

int service_enter(struct service *service, int64_t tokens, unsigned busy, struct answer *answer)
{
    const struct gate_wait wait = {service->limits.wait, SERVER_MOST_REQUESTS, service->request_is_over,
                                   NULL};
    enum gate_result result = gate_enter(service->gate, tokens, &wait);
    if (result == GATE_IS_BUSY) {
        *answer = endpoints_error(busy, "The server is busy; try again later");
    } else if (result == GATE_IS_OVER) {
        *answer = failure_answer(service, CLF_INTERRUPTED);
    }
    return result == GATE_ENTERED;
}

void service_leave(struct service *service, int64_t tokens)
{
    gate_leave(service->gate, tokens);
}
