#include "serve/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/status.h"

enum { POLL_NANOSECONDS = 50000000 };

/* A request that waits; on the stack of its thread. */
struct waiter {
    struct waiter *next;
};

struct gate {
    pthread_mutex_t lock;   /* guards the members below */
    pthread_cond_t changed; /* work has ended, or the first waiter is another one */
    int64_t most, tokens;
    struct waiter *first, **end;
    int waiting;
    int most_requests, requests; /* accepted and waiting */
};

clf_status gate_create(struct gate **out, int64_t most, int most_requests)
{
    struct gate *gate = *out = calloc(1, sizeof *gate);
    if (gate == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the queue of requests");
    }
    gate->most = most;
    gate->most_requests = most_requests;
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

int gate_enter(struct gate *gate, int64_t tokens, double seconds, int (*interrupted)(void *payload))
{
    struct waiter waiter;
    double end = clf__seconds() + seconds;
    pthread_mutex_lock(&gate->lock);
    if (gate->requests >= gate->most_requests) {
        pthread_mutex_unlock(&gate->lock);
        return 0;
    }
    gate->requests++;
    add_waiter(gate, &waiter);
    int enters = 0, is_over = 0;
    while (!enters && !is_over) {
        enters = gate->first == &waiter && (gate->tokens == 0 || tokens <= gate->most - gate->tokens);
        is_over = !enters && (clf__seconds() >= end || interrupted(NULL));
        if (!enters && !is_over) {
            wait_a_moment(gate);
        }
    }
    gate->tokens += enters ? tokens : 0;
    gate->requests -= !enters;
    remove_waiter(gate, &waiter);
    pthread_mutex_unlock(&gate->lock);
    return enters;
}

void gate_leave(struct gate *gate, int64_t tokens)
{
    pthread_mutex_lock(&gate->lock);
    gate->tokens -= tokens;
    gate->requests--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_read(int64_t *tokens, int *waiting, struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    *tokens = gate->tokens;
    *waiting = gate->waiting;
    pthread_mutex_unlock(&gate->lock);
}
