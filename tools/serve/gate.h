/* Limits the amount of work in progress; further requests wait in order of arrival. Any number of threads may
 * call these functions. */
#ifndef CLF_TOOLS_SERVE_GATE_H
#define CLF_TOOLS_SERVE_GATE_H

#include <stdint.h>

#include <clformer/clformer.h>

struct gate;

/* @param most maximum work, in any unit, at least 1; a larger request enters when no other is running. */
clf_status gate_create(struct gate **out, int64_t most);
void gate_free(struct gate *gate); /* NULL is ignored */

/* How long a request waits. */
struct gate_wait {
    double seconds;                 /* may be INFINITY */
    int most_requests;              /* a request is refused at once while this many run or wait */
    int (*interrupted)(void *user); /* polled every 50 ms; non-zero ends the wait */
    void *user;
};

enum gate_result {
    GATE_ENTERED = 0, /* call gate_leave() when the work is done */
    GATE_IS_BUSY = 1, /* the wait timed out, or too many requests are running or waiting */
    GATE_IS_OVER = 2, /* interrupted */
};
enum gate_result gate_enter(struct gate *gate, int64_t work, const struct gate_wait *wait);
void gate_leave(struct gate *gate, int64_t work);

/* Returns the work in progress and the number of waiting requests. */
void gate_read(int64_t *work, int *waiting, struct gate *gate);

#endif
