/* Limits how many requests run at the same time; the others wait in the order of their arrival. */
#ifndef CLF_TOOLS_SERVE_TURNS_H
#define CLF_TOOLS_SERVE_TURNS_H

#include <pthread.h>

/* One runs while the next ones read their recordings; more only need more device memory. */
enum { TURNS_MOST = 4 };

struct turn;

struct turns {
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    int running;
    struct turn *first, *last; /* waiting */
};

void turns_init(struct turns *turns);
void turns_destroy(struct turns *turns);
/* Waits for a turn. Returns 0 if `is_over`, which is polled, returns non-zero before. */
int turns_wait(struct turns *turns, int (*is_over)(void *user), void *user);
void turns_leave(struct turns *turns);

#endif
