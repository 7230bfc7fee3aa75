#include "serve/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/status.h"

enum { POLL_NANOSECONDS = 50000000 };

/* A waiting request, on the stack of its thread. */
struct waiter {
    struct waiter *next;
};

struct gate {
    pthread_mutex_t lock;   /* guards the members below */
    pthread_cond_t changed; /* work has ended, or the first waiter has changed */
    int64_t most, work;
    struct waiter *first, **end;
    int waiting;
    int requests; /* that run or wait */
};

clf_status gate_create(struct gate **out, int64_t most)
{
    struct gate *gate = *out = calloc(1, sizeof *gate);
    if (gate == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the queue of requests");
    }
    gate->most = most;
    gate->end = &gate->first;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return CLF_OK;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL) {
        pthread_cond_destroy(&gate->changed);
        pthread_mutex_destroy(&gate->lock);
    }
    free(gate);
}

static void add_waiter(struct gate *gate, struct waiter *waiter)
{
    waiter->next = NULL;
    *gate->end = waiter;
    gate->end = &waiter->next;
    gate->waiting++;
}

static void remove_waiter(struct gate *gate, struct waiter *waiter)
{
    struct waiter **link = &gate->first;
    while (*link != waiter) {
        link = &(*link)->next;
    }
    *link = waiter->next;
    gate->end = waiter->next == NULL ? link : gate->end;
    gate->waiting--;
    pthread_cond_broadcast(&gate->changed);
}

static void wait_a_moment(struct gate *gate)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&gate->changed, &gate->lock, &until);
}

enum gate_result gate_enter(struct gate *gate, int64_t work, const struct gate_wait *wait)
{
    struct waiter waiter;
    enum gate_result result = GATE_ENTERED;
    double end = clf__seconds() + wait->seconds;
    pthread_mutex_lock(&gate->lock);
    if (gate->requests >= wait->most_requests) {
        pthread_mutex_unlock(&gate->lock);
        return GATE_IS_BUSY;
    }
    gate->requests++;
    add_waiter(gate, &waiter);
    while (result == GATE_ENTERED &&
           (gate->first != &waiter || (gate->work > 0 && work > gate->most - gate->work))) {
        result = wait->interrupted(wait->user) ? GATE_IS_OVER
                 : clf__seconds() >= end       ? GATE_IS_BUSY
                                               : GATE_ENTERED;
        if (result == GATE_ENTERED) {
            wait_a_moment(gate);
        }
    }
    gate->work += result == GATE_ENTERED ? work : 0;
    gate->requests -= result != GATE_ENTERED;
    remove_waiter(gate, &waiter);
    pthread_mutex_unlock(&gate->lock);
    return result;
}

void gate_leave(struct gate *gate, int64_t work)
{
    pthread_mutex_lock(&gate->lock);
    gate->work -= work;
    gate->requests--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_read(int64_t *work, int *waiting, struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    *work = gate->work;
    *waiting = gate->waiting;
    pthread_mutex_unlock(&gate->lock);
}
