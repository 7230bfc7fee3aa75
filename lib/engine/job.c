/* Jobs: their threads submit them, and wait for their end or run a lane. */
#include "base/memory.h"
#include "base/minmax.h"
#include "base/task.h"
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

static void *run_lane(void *argument)
{
    struct clf__lane *lane = argument;
    struct clf_engine *engine = lane->engine;
    pthread_mutex_lock(&engine->lock);
    clf__lane_drive(engine, lane, NULL);
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* Notes whether the device of an idle lane was lost by another translator, or is reported to work again. */
static void note_loss(struct clf_engine *engine, struct clf__lane *lane)
{
    if (lane->held == 0 && lane->is_lost != lane->model->is_lost) {
        lane->is_lost = lane->model->is_lost;
        pthread_cond_broadcast(&engine->work); /* the thread of a lost lane ends */
    }
}

/* Starts the threads of an engine with several lanes. */
static clf_status start_lanes(struct clf_engine *engine)
{
    for (int i = 0; i < engine->count && engine->count > 1; i++) {
        struct clf__lane *lane = &engine->lanes[i];
        note_loss(engine, lane);
        if (!lane->is_driven && !lane->is_lost) {
            clf__task_wait(&engine->tasks[i]); /* an earlier thread has ended */
            lane->is_driven = 1;
            if (!clf__task_begin(&engine->tasks[i], run_lane, lane)) {
                lane->is_driven = 0;
                return clf__fail(CLF_OUT_OF_MEMORY, "cannot start a thread for a device");
            }
        }
    }
    return clf__engine_working(engine) > 0
               ? CLF_OK
               : clf__fail(CLF_DEVICE, "all devices of the translator failed; open the devices again");
}

static void submit(struct clf_engine *engine, struct clf__job *job)
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

static void retire(struct clf_engine *engine, struct clf__job *job)
{
    *(job->previous != NULL ? &job->previous->next : &engine->first) = job->next;
    *(job->next != NULL ? &job->next->previous : &engine->last) = job->previous;
}

/* Returns whether a job may run the only lane of an engine. */
static int may_drive(const struct clf_engine *engine)
{
    return engine->count == 1 && !engine->lanes[0].is_driven;
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
    int has_hooks = job->options->poll != NULL || job->options->interrupted != NULL;
    clf__engine_wait(engine, &job->changed, has_hooks ? CLF__HOOKS_MILLISECONDS : CLF__IDLE_MILLISECONDS);
}

static clf_status run(struct clf_engine *engine, struct clf__job *job)
{
    pthread_mutex_lock(&engine->lock);
    struct clf__failure failure = clf__failure_keep(start_lanes(engine));
    if (failure.status == CLF_OK && job->lane != NULL && job->lane->is_lost) {
        failure = clf__failure_keep(clf__fail(CLF_DEVICE, "the device has failed; open it again"));
    }
    if (failure.status != CLF_OK) {
        pthread_mutex_unlock(&engine->lock);
        return clf__failure_again(&failure);
    }
    submit(engine, job);
    while (!clf__job_is_over(job)) {
        if (may_drive(engine)) {
            clf__lane_drive(engine, &engine->lanes[0], job);
        } else {
            follow(engine, job);
        }
    }
    retire(engine, job);
    pthread_mutex_unlock(&engine->lock);
    clf_status status = clf__failure_again(&job->failure);
    return status == CLF_OK ? clf__job_pass(job) : status;
}

clf_status clf__job_run(struct clf_engine *engine, struct clf__job *job)
{
    job->engine = engine;
    for (int i = 0; i < job->count; i++) {
        job->units[i].job = job;
        job->units[i].number = i;
    }
    clf__condition_init(&job->changed);
    clf_status status = sort_units(job);
    if (status == CLF_OK) {
        status = run(engine, job);
    }
    clf__job_drop_parts(job);
    pthread_cond_destroy(&job->changed);
    clf__free(job->order);
    job->order = NULL;
    clf__engine_copy_times(engine, job->times);
    return status;
}
