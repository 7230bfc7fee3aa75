/* A recursive mutex that threads get in the order in which they asked. */
#ifndef CLF_BASE_FAIR_LOCK_H
#define CLF_BASE_FAIR_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct clf__fair_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t last_ticket, served_ticket;
    pthread_t holder;
    int depth; /* locks that the holder has not undone; 0: free */
};

void clf__fair_lock_init(struct clf__fair_lock *lock);
void clf__fair_lock_destroy(struct clf__fair_lock *lock);

/* Waits until every thread that asked earlier has unlocked. A thread that holds the lock gets it again. */
void clf__fair_lock_lock(struct clf__fair_lock *lock);
void clf__fair_lock_unlock(struct clf__fair_lock *lock);

#endif
