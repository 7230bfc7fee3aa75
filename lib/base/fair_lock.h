/* A recursive mutex that serves threads in the order of their requests. */
#ifndef CLF_BASE_FAIR_LOCK_H
#define CLF_BASE_FAIR_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct clf__fair_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t last_ticket, served_ticket;
    pthread_t holder;
    int depth; /* recursion depth of the holder; 0: unlocked */
};

void clf__fair_lock_init(struct clf__fair_lock *lock);
void clf__fair_lock_destroy(struct clf__fair_lock *lock);

/* Waits until every thread that requested the lock earlier has released it. A thread that holds the lock
 * may lock it again. */
void clf__fair_lock_lock(struct clf__fair_lock *lock);
void clf__fair_lock_unlock(struct clf__fair_lock *lock);

#endif
