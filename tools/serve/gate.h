/* Bounds the work that is accepted at the same time, in tokens; further requests wait in order of arrival.
 * Any number of threads may call these functions. */
#ifndef CLF_TOOLS_SERVE_GATE_H
#define CLF_TOOLS_SERVE_GATE_H

#include <stdint.h>

#include <clformer/clformer.h>

struct gate;

/* @param most tokens, at least 1; work that exceeds it on its own is accepted if there is no other.
 * @param most_requests accepted and waiting requests; further ones are refused at once. */
clf_status gate_create(struct gate **out, int64_t most, int most_requests);
void gate_free(struct gate *gate);

/* Waits at most `seconds` until the work is accepted. Returns 1, or 0 without it; then no call of
 * gate_leave() is due.
 *
 * @param interrupted polled every 50 ms; non-zero ends the wait. */
int gate_enter(struct gate *gate, int64_t tokens, double seconds, int (*interrupted)(void *payload));
void gate_leave(struct gate *gate, int64_t tokens);

/* Returns the accepted tokens and the number of waiting requests. */
void gate_read(int64_t *tokens, int *waiting, struct gate *gate);

#endif
