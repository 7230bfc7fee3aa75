#include "base/fair_lock.h"

void clf__fair_lock_init(struct clf__fair_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
    lock->last_ticket = lock->served_ticket = 0;
    lock->depth = 0;
}

void clf__fair_lock_destroy(struct clf__fair_lock *lock)
{
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}

void clf__fair_lock_lock(struct clf__fair_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    if (lock->depth == 0 || !pthread_equal(lock->holder, pthread_self())) {
        uint64_t ticket = lock->last_ticket++;
        while (ticket != lock->served_ticket) {
            pthread_cond_wait(&lock->changed, &lock->mutex);
        }
        lock->holder = pthread_self();
    }
    lock->depth++;
    pthread_mutex_unlock(&lock->mutex);
}

void clf__fair_lock_unlock(struct clf__fair_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    if (--lock->depth == 0) {
        lock->served_ticket++;
        pthread_cond_broadcast(&lock->changed);
    }
    pthread_mutex_unlock(&lock->mutex);
}
