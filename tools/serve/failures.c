#include "serve/failures.h"

#include <stdio.h>

#include "serve/client.h"

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
        return endpoints_error(504, "The request takes longer than %.0f s; send less text",
                               service->limits.time);
    }
    fprintf(stderr, "clformer: a request failed: %s\n", clf_last_error());
    return endpoints_error(500, "The translation failed; the server's log has the reason");
}

struct answer failure_at_gate(const struct service *service, unsigned busy)
{
    if (client_is_gone() || client_is_late() || atomic_load(&service->is_stopping)) {
        return failure_answer(service, CLF_INTERRUPTED);
    }
    return endpoints_error(busy, "The server is busy; try again later");
}
