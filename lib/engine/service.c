/* The threads of an engine: one for each lane, and the service thread, which calls the callbacks of the jobs
 * that no thread waits for. A slow callback therefore delays other callbacks, but no lane. */
#include "base/task.h"
#include "engine/internal.h"

static void *run_lane(void *argument)
{
    struct clf__lane *lane = argument;
    struct clf_engine *engine = lane->engine;
    pthread_mutex_lock(&engine->lock);
    while (lane->is_driven && !engine->stops) { /* by a thread that waits for a job and will leave */
        pthread_cond_wait(&engine->work, &engine->lock);
    }
    clf__lane_drive(engine, lane, NULL);
    lane->has_thread = 0;
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* Notes whether the device of an idle lane was lost by another translator, or is reported to work again. */
static void note_loss(struct clf_engine *engine, struct clf__lane *lane)
{
    if (engine->count > 1 && lane->held == 0 && lane->is_lost != lane->model->is_lost) {
        lane->is_lost = lane->model->is_lost;
        pthread_cond_broadcast(&engine->work); /* the thread of a lost lane ends */
    }
}

static clf_status start_lane(struct clf_engine *engine, int index)
{
    struct clf__lane *lane = &engine->lanes[index];
    if (lane->has_thread || lane->is_lost) {
        return CLF_OK;
    }
    clf__task_wait(&engine->tasks[index]); /* an earlier thread has ended */
    lane->has_thread = 1;
    if (!clf__task_begin(&engine->tasks[index], run_lane, lane)) {
        lane->has_thread = 0;
        return clf__fail(CLF_OUT_OF_MEMORY, "cannot start a thread for a device");
    }
    return CLF_OK;
}

clf_status clf__lanes_start(struct clf_engine *engine)
{
    for (int i = 0; i < engine->count && engine->is_threaded; i++) {
        note_loss(engine, &engine->lanes[i]);
        CLF__TRY(start_lane(engine, i));
    }
    return clf__engine_working(engine) > 0
               ? CLF_OK
               : clf__fail(CLF_DEVICE, "all devices of the translator failed; open the devices again");
}

static struct clf__job *next_news(struct clf__service *service)
{
    struct clf__job *job = service->first;
    if (job != NULL) {
        service->first = job->next_news;
        service->last = service->first != NULL ? service->last : NULL;
        job->has_news = 0;
    }
    return job;
}

/* Ends a job that is over. */
static void end(struct clf_engine *engine, struct clf__job *job)
{
    engine->service.asked -= clf__job_has_interval(job);
    clf__queue_remove(engine, job);
    pthread_mutex_unlock(&engine->lock);
    clf_status status = clf__failure_again(&job->failure);
    struct clf__failure failure = clf__failure_keep(status == CLF_OK ? clf__job_pass(job) : status);
    clf__job_end(job);
    job->over(job->owner, &failure);
    pthread_mutex_lock(&engine->lock);
}

/* Calls the hooks of a job. A job that ends meanwhile is listed again, because its end is news. */
static void serve(struct clf_engine *engine, struct clf__job *job)
{
    if (clf__job_is_over(job)) {
        end(engine, job);
    } else if (!job->is_cancelled) {
        clf__job_ask(engine, job);
    }
}

/* Lists the jobs whose hooks are called at regular intervals. */
static void list_asked(struct clf_engine *engine)
{
    for (struct clf__job *job = engine->first; job != NULL; job = job->next) {
        if (job->over != NULL && clf__job_has_interval(job)) {
            clf__job_notify(job);
        }
    }
}

static _Thread_local const struct clf_engine *served;

static void *run_service(void *argument)
{
    struct clf_engine *engine = argument;
    struct clf__service *service = &engine->service;
    served = engine;
    pthread_mutex_lock(&engine->lock);
    while (!engine->stops) {
        struct clf__job *job = next_news(service);
        if (job != NULL) {
            serve(engine, job);
        } else if (service->asked > 0) {
            clf__engine_wait(engine, &service->news, CLF__HOOKS_MILLISECONDS);
            list_asked(engine);
        } else {
            pthread_cond_wait(&service->news, &engine->lock);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

clf_status clf__engine_begin_thread(struct clf_engine *engine, void *(*run)(void *argument), void *argument)
{
    pthread_mutex_lock(&engine->lock);
    int is_running = clf__task_begin_detached(run, argument);
    engine->threads += is_running;
    pthread_mutex_unlock(&engine->lock);
    return is_running ? CLF_OK : clf__fail(CLF_OUT_OF_MEMORY, "cannot start a thread for a job");
}

void clf__engine_end_thread(struct clf_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->threads--;
    pthread_cond_broadcast(&engine->threads_ended);
    pthread_mutex_unlock(&engine->lock);
}

int clf__service_is_here(const struct clf_engine *engine)
{
    return served == engine;
}

clf_status clf__service_start(struct clf_engine *engine)
{
    for (int i = 0; i < engine->count; i++) {
        CLF__TRY(start_lane(engine, i));
    }
    engine->is_threaded = 1; /* a thread that runs the lane leaves it to the lane's thread */
    struct clf__service *service = &engine->service;
    if (!service->has_thread) {
        service->has_thread = clf__task_begin(&service->task, run_service, engine);
    }
    return service->has_thread ? CLF_OK : clf__fail(CLF_OUT_OF_MEMORY, "cannot start a thread for callbacks");
}
