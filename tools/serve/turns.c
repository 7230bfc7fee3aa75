#include "serve/turns.h"

#include <stddef.h>
#include <time.h>

enum { POLL_NANOSECONDS = 50000000, SECOND = 1000000000 };

/* A thread that waits. */
struct turn {
    struct turn *next;
};

void turns_init(struct turns *turns)
{
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->changed, NULL);
    turns->running = turns->waiting = 0;
    turns->first = turns->last = NULL;
}

void turns_destroy(struct turns *turns)
{
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
}

static void add(struct turns *turns, struct turn *turn)
{
    *(turns->last != NULL ? &turns->last->next : &turns->first) = turn;
    turns->last = turn;
    turns->waiting++;
}

static void drop(struct turns *turns, struct turn *turn)
{
    struct turn *before = NULL;
    struct turn **link = &turns->first;
    while (*link != turn) {
        before = *link;
        link = &before->next;
    }
    *link = turn->next;
    turns->last = turns->last == turn ? before : turns->last;
    turns->waiting--;
}

static void wait_briefly(struct turns *turns)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += POLL_NANOSECONDS;
    end.tv_sec += end.tv_nsec / SECOND;
    end.tv_nsec %= SECOND;
    pthread_cond_timedwait(&turns->changed, &turns->lock, &end);
}

enum turn_result turns_wait(struct turns *turns, int most, int (*is_over)(void *user), void *user)
{
    struct turn turn = {NULL};
    int is_given_up = 0;
    pthread_mutex_lock(&turns->lock);
    if (turns->waiting >= most) {
        pthread_mutex_unlock(&turns->lock);
        return TURN_IS_REFUSED;
    }
    add(turns, &turn);
    while (!is_given_up && (turns->first != &turn || turns->running >= TURNS_MOST)) {
        wait_briefly(turns);
        is_given_up = is_over(user);
    }
    drop(turns, &turn);
    turns->running += !is_given_up;
    pthread_cond_broadcast(&turns->changed); /* for the next in the queue */
    pthread_mutex_unlock(&turns->lock);
    return is_given_up ? TURN_IS_OVER : TURN_BEGINS;
}

void turns_leave(struct turns *turns)
{
    pthread_mutex_lock(&turns->lock);
    turns->running--;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}
