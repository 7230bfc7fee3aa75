/* Threads get the lock in order of request, and its holder can lock it again. */
#include "base/fair_lock.h"

#include <sched.h>

#include "support/support.h"

enum { THREADS = 6 };

static struct clf__fair_lock lock;
static int order[THREADS], count; /* indices of threads, in the order in which they got the lock */

static void *take(void *user)
{
    clf__fair_lock_lock(&lock);
    clf__fair_lock_lock(&lock);
    order[count++] = *(int *)user;
    clf__fair_lock_unlock(&lock);
    clf__fair_lock_unlock(&lock);
    return NULL;
}

static uint64_t tickets(void)
{
    pthread_mutex_lock(&lock.mutex);
    uint64_t last = lock.last_ticket;
    pthread_mutex_unlock(&lock.mutex);
    return last;
}

static void test_order(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    count = 0;
    clf__fair_lock_init(&lock);
    clf__fair_lock_lock(&lock);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, take, &numbers[i]), 0);
        while (tickets() < (uint64_t)i + 2) {
            sched_yield();
        }
    }
    assert_int_equal(count, 0);
    clf__fair_lock_unlock(&lock);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(count, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(order[i], i);
    }
    clf__fair_lock_destroy(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
