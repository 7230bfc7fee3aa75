/* Limits how many requests run at the same time; the others wait in the order of their arrival. */
#ifndef CLF_TOOLS_SERVE_TURNS_H
#define CLF_TOOLS_SERVE_TURNS_H

#include <pthread.h>

/* One runs while the next ones read their recordings; more only need more device memory. */
enum { TURNS_MOST = 4 };
/* Requests that wait before another one is refused, if its API has an answer that clients retry. */
enum { TURNS_MOST_WAITING = 128 };

struct turn;

struct turns {
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    int running, waiting;
    struct turn *first, *last; /* of those that wait */
};

void turns_init(struct turns *turns);
void turns_destroy(struct turns *turns);
enum turn_result { TURN_BEGINS, TURN_IS_OVER, TURN_IS_REFUSED };
/* Waits for a turn: TURN_IS_OVER if `is_over`, which is polled, returns non-zero before; TURN_IS_REFUSED if
 * more requests wait than `most`. */
enum turn_result turns_wait(struct turns *turns, int most, int (*is_over)(void *user), void *user);
void turns_leave(struct turns *turns);

#endif
