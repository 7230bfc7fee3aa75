/* An engine: the lanes of one model on one or several devices, and the jobs that wait for them. Any number of
 * threads submit jobs, and wait for them or leave them to the service thread. A lane takes the units of all
 * jobs between two steps; a result does not depend on the lane, nor on the other active lines. */
#ifndef CLF_ENGINE_ENGINE_H
#define CLF_ENGINE_ENGINE_H

#include <pthread.h>

#include "base/task.h"
#include "engine/lane.h"

struct clf__job;

/* Where a thread waits for its job. The engine owns the waiters and reuses them, so that a thread may be
 * woken after the lock was released, when its job may be over. */
struct clf__waiter {
    pthread_cond_t woken;
    struct clf__waiter *next;
};

struct clf_engine {
    struct clf__lane *lanes; /* (count) */
    struct clf__task *tasks; /* (count) the threads of the lanes, if is_threaded */
    int count;
    int is_threaded;  /* each lane has a thread: several lanes, or jobs were started for the service thread */
    int batch_tokens; /* 0: chosen for each device and the options of the lines */
    int batch_windows;       /* 0: chosen for each device and the options of the windows */
    struct clf_model *draft; /* proposes tokens for the only lane; NULL: none */
    int64_t cache_bytes;     /* per lane; 0: chosen for each device; negative: no cache */
    pthread_mutex_t lock;
    pthread_cond_t work;              /* units wait, or the engine stops */
    struct clf__job *first, *last;    /* jobs that are not over, in the order of their submission */
    int jobs;                         /* number of these jobs */
    struct clf__waiter *spare;        /* waiters without a job */
    double shared;                    /* when a job was last added beside others; 0: never */
    int64_t left;                     /* total cost of their units that are not done */
    uint64_t arrivals;                /* counts submitted jobs and failures of lanes */
    uint64_t turns;                   /* counts units that were taken */
    int overtakings;                  /* interactive units that were taken since the last bulk unit */
    struct clf_stage_times own_times; /* work outside the lanes */
    int stops;
    struct clf__service {
        struct clf__task task;
        int has_thread;
        pthread_cond_t news;           /* a job is listed, or the engine stops */
        struct clf__job *first, *last; /* started jobs with news for their callbacks */
        int asked;                     /* started jobs whose hooks are called at regular intervals */
    } service;
    int threads;                  /* that clf__engine_begin_thread() started and that have not ended */
    pthread_cond_t threads_ended; /* `threads` has become 0 */
    atomic_int preparing; /* number of calls that are reading their lines and will then submit a job */
    atomic_int
        sharers; /* number of objects that share the engine: translators, transcribers and encoded windows */
    struct clf__frame_maker *frame_maker; /* for recordings; NULL: sources are text */
    pthread_mutex_t frames_lock;
};

clf_status clf__engine_create(struct clf_engine **out, struct clf_model *const *models, int count,
                              int batch_tokens, int64_t cache_bytes);
/* Frees an engine without jobs. */
void clf__engine_free(struct clf_engine *engine);
/* Counts another object that shares the engine: a translator, a transcriber or encoded windows. */
void clf__engine_join(struct clf_engine *engine);
/* Called when such an object is freed: frees the engine that it owns, or stops sharing it; NULL is ignored.
 */
void clf__engine_leave(struct clf_engine *engine, int owns);

/* Chooses the batches of all lanes that have none, for lines that need a capacity. */
clf_status clf__engine_fit(struct clf_engine *engine, const struct clf__capacity *capacity);

/* Creates the sessions for windows of this capacity on all lanes that have none. */
clf_status clf__engine_fit_windows(struct clf_engine *engine, const struct clf__window_capacity *capacity);
/* Returns the number of windows in the batches of all devices that work. */
int clf__engine_windows(struct clf_engine *engine);

/* Returns the smallest batch of the lanes whose devices work. */
struct clf__lane_view clf__engine_batch(struct clf_engine *engine);

/* Counts the lanes whose devices work; needs the lock while jobs run. */
int clf__engine_working(const struct clf_engine *engine);

/* Runs one unit of work on a lane. */
typedef clf_status clf__unit_run(void *context, struct clf__lane *lane, struct clf__unit *unit);

/* Work that was submitted together. */
struct clf__job {
    struct clf__unit *units; /* (count) */
    int count;
    /* NULL: the units are lines or windows to search. */
    clf__unit_run *run;
    /* Called on the waiting thread for each unit before its first search and after each search; sets *next to
     * the unit's next step (CLF__NEXT_...). NULL: each unit has one search. */
    clf_status (*returned)(void *context, struct clf__unit *unit, int *next);
    /* Called on the waiting thread when all units before `to` are done; units before `from` were passed
     * earlier. NULL: not called. */
    clf_status (*passed)(void *context, int from, int to);
    void *context;                               /* first argument of the callbacks */
    const struct clf_translate_options *options; /* with hooks, which run on the waiting thread */
    struct clf_stage_times *times; /* receives the engine's times before each call of the hooks; NULL: not
                                      needed */
    int longest_source;            /* tokens or frames */
    int group;                     /* this many consecutive units are sorted by cost together */
    struct clf__lane *lane;        /* the only lane that may run the job; NULL: any */
    int is_bulk;                   /* CLF_PRIORITY_BULK */
    /* Called once on the service thread when the job is over and has ended; the engine does not use the job
     * afterwards. NULL: a thread waits for the job. */
    void (*over)(void *owner, const struct clf__failure *failure);
    void *owner; /* first argument of `over` */

    /* Set by the engine. */
    struct clf_engine *engine;
    struct clf__job *next, *previous;
    struct clf__waiter *waiter; /* of the thread that waits for the job; NULL: the job has `over` */
    int *order; /* (order_count) units with a cost above 0, in the order in which lanes take them */
    int order_count, next_position;
    int held, done;   /* units */
    uint64_t turn;    /* engine->turns when the job was submitted or last had a unit taken */
    int passed_count; /* number of passed units */
    struct clf__unit *returned_first, *returned_last; /* units that wait for `returned` */
    struct clf__unit *later; /* units for which `returned` is called again after another unit */
    int is_cancelled;
    int is_asking;  /* its hooks are called, so that its thread cannot run a lane */
    int is_retired; /* was removed from the engine */
    struct clf__failure failure;
    struct clf__part *parts, *last_part; /* text and tokens that the waiting thread has not passed on */
    struct clf__job *next_news;
    int has_news; /* is in the list of the service thread */
};

/* Adds times of work outside the lanes. */
void clf__engine_add_times(struct clf_engine *engine, const struct clf_stage_times *times);
/* Copies the sum of all times. */
void clf__engine_copy_times(struct clf_engine *engine, struct clf_stage_times *out);

/* Runs a job and waits for it to finish; its units are done then, or the status is not CLF_OK. */
clf_status clf__job_run(struct clf_engine *engine, struct clf__job *job);

/* Prepares a job for clf__job_enter(). */
clf_status clf__job_prepare(struct clf_engine *engine, struct clf__job *job);
/* Starts a prepared job. The service thread calls the hooks and `over` of a job with `over`. If it fails, the
 * caller ends the job. Needs the engine's lock. */
clf_status clf__job_enter(struct clf_engine *engine, struct clf__job *job);
/* Frees what the engine allocated for a job that is not running. */
void clf__job_end(struct clf__job *job);
/* Makes a running job fail; the first failure counts. Needs the engine's lock. */
void clf__job_cancel(struct clf__job *job, const struct clf__failure *failure);

/* Starts a thread for the job of a caller; its last call is clf__engine_end_thread(). Freeing the engine
 * waits for these threads. */
clf_status clf__engine_begin_thread(struct clf_engine *engine, void *(*run)(void *argument), void *argument);
void clf__engine_end_thread(struct clf_engine *engine);

/* Returns whether the calling thread is the service thread of an engine. */
int clf__service_is_here(const struct clf_engine *engine);

#endif
