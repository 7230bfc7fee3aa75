/* The answers to requests that fail after their checks. */
#ifndef CLF_TOOLS_SERVE_FAILURES_H
#define CLF_TOOLS_SERVE_FAILURES_H

#include "serve/endpoints.h"

/* The answer to a translation that failed: what is wrong with the text or an option, or that the client is
 * gone, the server is stopping or the time is over. Other reasons go to the log only. */
struct answer failure_answer(const struct service *service, clf_status status);

/* The answer to a request that the gate did not accept; `busy` is the status if it has waited long enough. */
struct answer failure_at_gate(const struct service *service, unsigned busy);

#endif
