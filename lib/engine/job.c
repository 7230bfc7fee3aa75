/* Jobs: a thread starts a job, then waits for it to finish or runs a lane. */
#include "base/minmax.h"
#include "engine/internal.h"

clf_status clf__job_enter(struct clf_engine *engine, struct clf__job *job)
{
    CLF__TRY(job->over != NULL ? clf__service_start(engine) : CLF_OK);
    CLF__TRY(clf__lanes_start(engine));
    if (job->lane != NULL && job->lane->is_lost) {
        return clf__fail(CLF_DEVICE, "the device has failed; open it again");
    }
    CLF__TRY(clf__queue_add(engine, job));
    if (job->over != NULL) {
        engine->service.asked += clf__job_has_interval(job);
        clf__job_notify(job); /* it may be over already, and the service thread may wait without a limit */
    }
    return CLF_OK;
}

/* Returns whether a job may run the only lane of an engine. */
static int may_drive(const struct clf_engine *engine)
{
    return !engine->is_threaded && !engine->lanes[0].is_driven;
}

/* Interval at which a waiting thread calls its hooks; longer if there are many jobs, so that their threads
 * leave the processor to the lanes. */
static int choose_interval(const struct clf_engine *engine, const struct clf__job *job)
{
    enum { JOBS = 16 };
    return clf__job_has_interval(job)
               ? clf__min_int(CLF__HOOKS_MILLISECONDS * (1 + engine->jobs / JOBS), CLF__IDLE_MILLISECONDS)
               : CLF__IDLE_MILLISECONDS;
}

/* Calls the hooks, and waits while another thread runs the lanes. */
static void follow(struct clf_engine *engine, struct clf__job *job)
{
    if (!job->is_cancelled) {
        clf__job_ask(engine, job);
    }
    if (clf__job_is_over(job) || may_drive(engine)) { /* checked again, because hooks run without the lock */
        return;
    }
    clf__engine_wait(engine, &job->waiter->woken, choose_interval(engine, job));
}

/* Runs the lane or waits, until a job is over. */
static void wait_for(struct clf_engine *engine, struct clf__job *job)
{
    while (!clf__job_is_over(job)) {
        if (may_drive(engine)) {
            clf__lane_drive(engine, &engine->lanes[0], job);
        } else {
            follow(engine, job);
        }
    }
    clf__queue_remove(engine, job);
}

clf_status clf__job_run(struct clf_engine *engine, struct clf__job *job)
{
    CLF__TRY(clf__job_prepare(engine, job));
    pthread_mutex_lock(&engine->lock);
    clf_status status = clf__job_enter(engine, job);
    if (status == CLF_OK) {
        wait_for(engine, job);
    }
    pthread_mutex_unlock(&engine->lock);
    if (status == CLF_OK) {
        status = clf__failure_again(&job->failure);
    }
    if (status == CLF_OK) {
        status = clf__job_pass(job);
    }
    clf__job_end(job);
    return status;
}
