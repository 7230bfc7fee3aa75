/* Jobs: threads submit them, and wait for their end or run a lane. */
#include "base/memory.h"
#include "base/minmax.h"
#include "engine/internal.h"
#include "text/batch.h"

/* Sorts the units of each group by cost, highest first: a slot that becomes free is then long enough for
 * the waiting lines of the group, and the last steps have only short lines. */
static clf_status sort_units(struct clf__job *job)
{
    int *costs;
    int group = job->group > 0 ? job->group : job->count;
    CLF__TRY(clf__allocate(&job->order, (size_t)job->count, sizeof *job->order));
    CLF__TRY(clf__allocate(&costs, (size_t)job->count, sizeof *costs));
    clf_status status = CLF_OK;
    for (int i = 0; i < job->count; i++) {
        costs[i] = job->units[i].cost;
    }
    for (int first = 0; first < job->count && status == CLF_OK; first += group) {
        int *order = job->order + job->order_count, count = 0;
        status = clf__lines_sort(order, &count, costs + first, clf__min_int(group, job->count - first));
        for (int i = 0; i < count; i++) {
            order[i] += first;
            job->units[order[i]].position = job->order_count + i;
        }
        job->order_count += count;
    }
    clf__free(costs);
    return status;
}

void clf__job_notify(struct clf__job *job)
{
    struct clf__service *service = &job->engine->service;
    if (job->over == NULL) {
        pthread_cond_broadcast(&job->changed);
    } else if (!job->has_news) {
        job->has_news = 1;
        job->next_news = NULL;
        *(service->last != NULL ? &service->last->next_news : &service->first) = job;
        service->last = job;
        pthread_cond_signal(&service->news);
    }
}

static void add(struct clf_engine *engine, struct clf__job *job)
{
    for (int i = 0; i < job->order_count; i++) {
        engine->left += job->units[job->order[i]].cost;
    }
    job->previous = engine->last;
    *(engine->last != NULL ? &engine->last->next : &engine->first) = job;
    engine->last = job;
    engine->arrivals++;
    job->turn = ++engine->turns;
    pthread_cond_broadcast(&engine->work);
}

void clf__job_retire(struct clf_engine *engine, struct clf__job *job)
{
    *(job->previous != NULL ? &job->previous->next : &engine->first) = job->next;
    *(job->next != NULL ? &job->next->previous : &engine->last) = job->previous;
    job->is_retired = 1;
}

clf_status clf__job_prepare(struct clf_engine *engine, struct clf__job *job)
{
    job->engine = engine;
    for (int i = 0; i < job->count; i++) {
        job->units[i].job = job;
        job->units[i].number = i;
    }
    clf__condition_init(&job->changed);
    clf_status status = sort_units(job);
    if (status != CLF_OK) {
        clf__job_end(job);
    }
    return status;
}

clf_status clf__job_enter(struct clf_engine *engine, struct clf__job *job)
{
    CLF__TRY(job->over != NULL ? clf__service_start(engine) : CLF_OK);
    CLF__TRY(clf__lanes_start(engine));
    if (job->lane != NULL && job->lane->is_lost) {
        return clf__fail(CLF_DEVICE, "the device has failed; open it again");
    }
    add(engine, job);
    if (job->over != NULL) {
        engine->service.asked += clf__job_has_interval(job);
        clf__job_notify(job); /* it may be over already, and the service thread may wait without a limit */
    }
    return CLF_OK;
}

void clf__job_end(struct clf__job *job)
{
    clf__job_drop_parts(job);
    pthread_cond_destroy(&job->changed);
    clf__free(job->order);
    job->order = NULL;
    if (job->times != NULL) {
        clf__engine_copy_times(job->engine, job->times);
    }
}

/* Returns whether a job may run the only lane of an engine. */
static int may_drive(const struct clf_engine *engine)
{
    return !engine->is_threaded && !engine->lanes[0].is_driven;
}

/* Calls the hooks, and waits while another thread runs the lanes. */
static void follow(struct clf_engine *engine, struct clf__job *job)
{
    if (!job->is_cancelled) {
        clf__job_ask(engine, job);
    }
    if (clf__job_is_over(job) || may_drive(engine)) { /* which may have changed during the hooks */
        return;
    }
    clf__engine_wait(engine, &job->changed,
                     clf__job_has_interval(job) ? CLF__HOOKS_MILLISECONDS : CLF__IDLE_MILLISECONDS);
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
    clf__job_retire(engine, job);
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
