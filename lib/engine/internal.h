/* Shared by the files of the engine. Functions need the engine's lock unless stated otherwise. */
#ifndef CLF_ENGINE_INTERNAL_H
#define CLF_ENGINE_INTERNAL_H

#include "engine/engine.h"

/* A part of a growing translation for a hook: streamed text or a token. */
struct clf__part {
    struct clf__part *next;
    int line;
    char *text; /* NULL: a token */
    size_t size;
    struct clf_generated_token token; /* `logits` owned */
    double sum;                       /* of the log-probabilities up to the token */
};

static inline int clf__job_is_over(const struct clf__job *job)
{
    return job->held == 0 && (job->is_cancelled || job->done == job->order_count);
}

/* Add a prepared job, and remove a job that is over. */
clf_status clf__queue_add(struct clf_engine *engine, struct clf__job *job);
void clf__queue_remove(struct clf_engine *engine, struct clf__job *job);
/* Frees what the queue of an engine without jobs has allocated. */
void clf__queue_end(struct clf_engine *engine);

/* Returns the next waiting unit that a lane may take, or NULL; with is_served, only a line for which the
 * lane's session has room. Interactive units come before bulk units, as clf_priority documents. Otherwise the
 * unit comes from the job with the fewest held units, so that a long job cannot starve a short one; if equal,
 * from the job served least recently. The caller marks the unit as held. */
struct clf__unit *clf__queue_next(struct clf_engine *engine, const struct clf__lane *lane, int is_served);
int clf__unit_is_served(const struct clf__unit *unit, const struct clf__lane *lane);
/* Returns whether no unit waits. */
int clf__queue_is_empty(const struct clf_engine *engine);
void clf__queue_hold(struct clf__unit *unit, struct clf__lane *lane);
/* Returns a held unit to its job; if the job is cancelled, the unit is done. */
void clf__queue_return(struct clf__unit *unit);
/* Marks a held unit as done, or as returned to the owner of its job. Returns the waiter that the caller wakes
 * by clf__waiter_wake(), with or without the lock; NULL: none. */
struct clf__waiter *clf__queue_finish(struct clf__unit *unit);
static inline void clf__waiter_wake(struct clf__waiter *waiter)
{
    if (waiter != NULL) {
        pthread_cond_broadcast(&waiter->woken);
    }
}
/* Takes a unit that waits for its job's `returned`; NULL: there is none. */
struct clf__unit *clf__queue_take_returned(struct clf__job *job);
/* Performs the next step that `returned` has set for a unit. */
void clf__queue_renew(struct clf__unit *unit, int next);

/* Returns whether a lane may take a unit of this cost. Each lane's share of the remaining work is
 * proportional to its pace, so that all lanes finish together. An idle lane with the highest pace may always
 * take a unit. */
int clf__pace_allows(const struct clf_engine *engine, const struct clf__lane *lane, int cost);

/* Marks a unit as done, or ends its job if it failed, unless the failure is one of the device: returns that
 * failure, and another lane may take the unit. Without the lock, as the two functions below. */
clf_status clf__unit_end(struct clf_engine *engine, struct clf__unit *unit, clf_status status);
/* End the units whose searches have finished. */
clf_status clf__lane_finish_lines(struct clf_engine *engine, struct clf__lane *lane);
clf_status clf__lane_finish_windows(struct clf_engine *engine, struct clf__lane *lane);

/* Runs a lane until `job` is over; NULL: until the engine stops. */
void clf__lane_drive(struct clf_engine *engine, struct clf__lane *lane, struct clf__job *job);

/* Notifies the thread that waits for a job, or the service thread, that something has changed. */
void clf__job_notify(struct clf__job *job);

/* Returns whether the job's hooks are called at regular intervals. */
static inline int clf__job_has_interval(const struct clf__job *job)
{
    return job->options->poll != NULL || job->options->interrupted != NULL;
}

/* Starts the threads of the lanes, if the engine has them. Fails if no device works. */
clf_status clf__lanes_start(struct clf_engine *engine);
/* Starts the service thread and the threads of the lanes. */
clf_status clf__service_start(struct clf_engine *engine);

/* Passes streamed text, finished units and returned units to the callbacks of a job, without holding the
 * lock. */
clf_status clf__job_pass(struct clf__job *job);
/* Calls all hooks of a job, without holding the lock. Returns a failure that ends the job. */
clf_status clf__job_go_on(struct clf__job *job);
/* Calls all hooks of a job, and cancels the job if that fails. */
void clf__job_ask(struct clf_engine *engine, struct clf__job *job);
void clf__job_drop_parts(struct clf__job *job);

/* Streams the part of a growing or finished text that can no longer change and was not streamed before;
 * without holding the lock. */
clf_status clf__unit_stream(struct clf__unit *unit, const char *text, int is_whole);
/* Hands a part to the thread that waits for the job, without holding the lock. */
void clf__job_stream(struct clf__job *job, struct clf__part *part);

/* Hands the tokens of the last step of a lane to the hooks, without holding the lock. */
clf_status clf__tokens_emit(struct clf__lane *lane);
/* Ends the searches of lines whose hook has ended the translation. */
void clf__tokens_stop(struct clf__lane *lane);

/* Interval at which a waiting thread calls its hooks, and a longer one at which a thread without hooks checks
 * whether it can run the lane while another thread is in a hook. */
enum { CLF__HOOKS_MILLISECONDS = 20, CLF__IDLE_MILLISECONDS = 200 };
/* Waits for a condition variable, for at most `milliseconds`. */
void clf__engine_wait(struct clf_engine *engine, pthread_cond_t *condition, int milliseconds);

#endif
