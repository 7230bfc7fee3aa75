/* What requests do after their checks: wait at the gate, and answer failures. */
#ifndef CLF_TOOLS_SERVE_FAILURES_H
#define CLF_TOOLS_SERVE_FAILURES_H

#include "serve/endpoints.h"

/* The answer to a translation that failed: what is wrong with the text or an option, or that the client is
 * gone, the server is stopping or the time is over. Other reasons go to the log only. */
struct answer failure_answer(const struct service *service, clf_status status);

/* Waits at the gate. Returns 1, after which service_leave() is due, or 0 after setting the answer.
 *
 * @param busy status of the answer after `--wait` seconds. */
int service_enter(struct service *service, int64_t tokens, unsigned busy, struct answer *answer);
void service_leave(struct service *service, int64_t tokens);

#endif
