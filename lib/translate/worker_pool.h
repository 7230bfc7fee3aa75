/* A pool of workers, one translator and thread per device, that take lines of one call from a shared queue. A
 * translation does not depend on the worker, nor on the other lines in its batch. */
#ifndef CLF_TRANSLATE_WORKER_POOL_H
#define CLF_TRANSLATE_WORKER_POOL_H

#include <pthread.h>

#include "base/task.h"
#include "translate/internal.h"

/* A work queue of items, each done by one worker. */
struct clf__queue {
    int *order;   /* (count) items in queue order */
    int *costs;   /* (items) cost of an item in tokens */
    int *holders; /* (items) the worker that has it, or one of clf__holder */
    int items;
    int count; /* number of items with a cost above 0 */
    int next;  /* no earlier position in the order is waiting */
    int done;
    int64_t left; /* total cost of unfinished items */
    /* Called on the calling thread when all items before `to` are done; items before `from` were reported
     * earlier. May be NULL. */
    clf_status (*passed)(void *context, int from, int to);
    int passed_count; /* number of reported items */
};
enum clf__holder { CLF__WAITS = -1, CLF__IS_DONE = -2 };

/* Creates a queue of the items with a cost above 0; other items are done. Groups of `group` consecutive items
 * are queued in order, the highest cost first within a group. The caller frees the queue, even on failure. */
clf_status clf__queue_create(struct clf__queue *out, const int *costs, int items, int group);
void clf__queue_free(struct clf__queue *queue);

struct clf__worker_pool;

/* A worker: a translator during one call. */
struct clf__worker {
    struct clf__worker_pool *pool;
    struct clf_translator *translator;
    int index;
    struct clf__task task;
    int is_working;               /* its work function has not returned */
    int64_t held, done;           /* cost of its current and its finished items */
    double start, waits;          /* start time, and total waiting time */
    struct clf_stage_times times; /* copy of the translator's times after its last step, for other threads */
};

typedef clf_status clf__worker_work(struct clf__worker *worker, void *context);

/* The pool of one call. */
struct clf__worker_pool {
    struct clf_translator *first; /* the caller's callbacks run on the calling thread */
    struct clf__queue *queue;
    clf__worker_work *work;
    void *context;
    int is_alone; /* the pool has one worker, which runs on the calling thread */
    struct clf__worker *workers;
    int count, working;
    int stops; /* all workers must return */
    struct clf__failure failure;
    struct {
        const char *text; /* NULL: nothing to stream */
        size_t size;
        int line;
    } pending;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Runs `work` on each translator of the pool whose device works, until the queue is done. A worker whose
 * device fails is removed with a logged warning, and its items return to the queue; if no worker is left, its
 * failure is returned. */
clf_status clf__worker_pool_run(struct clf_translator *first, struct clf__queue *queue,
                                clf__worker_work *work, void *context);

/* Count the translators from this one on whose devices work, and find the first of them (this one if there is
 * none). */
int clf__worker_pool_count(const struct clf_translator *first);
struct clf_translator *clf__worker_pool_available(struct clf_translator *first);

/* Lock and unlock the queue for the functions of the following group. */
void clf__worker_lock(struct clf__worker *worker);
void clf__worker_unlock(struct clf__worker *worker);

/* Functions that need the locked queue: */

/* Returns the first position at or after `from` whose item waits; queue.count if none does. */
int clf__queue_waiting(const struct clf__queue *queue, int from);
/* Returns whether a worker may take an item of this cost in addition to `more`. The share of each worker in
 * the remaining work follows its pace, so that all finish together. The fastest may always take one. */
int clf__worker_may_take(const struct clf__worker *worker, int64_t more, int cost);
void clf__worker_take(struct clf__worker *worker, int item);

/* Functions that need the unlocked queue: */

/* Marks an item as done. */
void clf__worker_finish(struct clf__worker *worker, int item);
/* Waits until an item may be available; returns 0 if none will be, because all items are done or the pool
 * stops. */
int clf__worker_wait(struct clf__worker *worker);
/* Takes one item, waiting for it; returns -1 if none will come. */
int clf__worker_next(struct clf__worker *worker);

/* Calls the caller's `streamed` on the calling thread. */
void clf__worker_pool_stream(const struct clf_translator *translator, int line, const char *text,
                             size_t size);

#endif
