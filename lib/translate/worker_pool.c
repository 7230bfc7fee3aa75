#include "translate/worker_pool.h"

#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/minmax.h"

/* Interval at which a waiting thread rechecks interrupts and the speed of the workers. */
enum { LOOK_NANOSECONDS = 20000000, SECOND_NANOSECONDS = 1000000000 };

static clf_status sort_groups(struct clf__queue *queue, int group)
{
    for (int first = 0; first < queue->items; first += group) {
        int *order = queue->order + queue->count, count;
        CLF__TRY(
            clf__lines_sort(order, &count, queue->costs + first, clf__min_int(group, queue->items - first)));
        for (int i = 0; i < count; i++) {
            order[i] += first;
        }
        queue->count += count;
    }
    return CLF_OK;
}

clf_status clf__queue_create(struct clf__queue *out, const int *costs, int items, int group)
{
    *out = (struct clf__queue){.items = items};
    CLF__TRY(clf__allocate(&out->order, (size_t)items, sizeof *out->order));
    CLF__TRY(clf__allocate(&out->costs, (size_t)items, sizeof *out->costs));
    CLF__TRY(clf__allocate(&out->holders, (size_t)items, sizeof *out->holders));
    for (int i = 0; i < items; i++) {
        out->costs[i] = costs[i];
        out->holders[i] = costs[i] > 0 ? CLF__WAITS : CLF__IS_DONE;
        out->left += costs[i];
    }
    return sort_groups(out, group);
}

void clf__queue_free(struct clf__queue *queue)
{
    clf__free(queue->order);
    clf__free(queue->costs);
    clf__free(queue->holders);
    *queue = (struct clf__queue){.count = 0};
}

int clf__queue_waiting(const struct clf__queue *queue, int from)
{
    int at = from > queue->next ? from : queue->next;
    while (at < queue->count && queue->holders[queue->order[at]] != CLF__WAITS) {
        at++;
    }
    return at;
}

void clf__worker_lock(struct clf__worker *worker)
{
    pthread_mutex_lock(&worker->pool->lock);
}

void clf__worker_unlock(struct clf__worker *worker)
{
    pthread_mutex_unlock(&worker->pool->lock);
}

static void wait_a_while(struct clf__worker_pool *pool)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NANOSECONDS;
    if (until.tv_nsec >= SECOND_NANOSECONDS) {
        until.tv_nsec -= SECOND_NANOSECONDS;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
}

/* Returns tokens per second over this call and, with halving weights, earlier calls; 0: unknown. */
static double pace_of(const struct clf__worker *worker)
{
    const struct clf__throughput *before = &worker->translator->pace;
    double done = before->done + (double)worker->done;
    double seconds = before->seconds + (clf__seconds() - worker->start - worker->waits);
    return done > 0 && seconds > 0 ? done / seconds : 0;
}

int clf__worker_may_take(const struct clf__worker *worker, int64_t more, int cost)
{
    const struct clf__worker_pool *pool = worker->pool;
    double fastest = 0, all = 0, own = 0;
    if (pool->is_alone) {
        return 1;
    }
    for (int i = 0; i < pool->count; i++) {
        double pace = pool->workers[i].is_working ? pace_of(&pool->workers[i]) : 0;
        fastest = pace > fastest ? pace : fastest;
    }
    fastest = fastest > 0 ? fastest : 1; /* no worker has a pace yet: all are equal */
    for (int i = 0; i < pool->count; i++) {
        if (pool->workers[i].is_working) {
            double pace = pace_of(&pool->workers[i]);
            pace = pace > 0 ? pace : fastest; /* a worker without a pace counts as the fastest */
            all += pace;
            own = i == worker->index ? pace : own;
        }
    }
    int64_t held = worker->held + more;
    int is_next = held == 0 && own >= fastest;
    return is_next || (double)held + 0.5 * cost <= (double)pool->queue->left * own / all;
}

void clf__worker_take(struct clf__worker *worker, int item)
{
    struct clf__queue *queue = worker->pool->queue;
    queue->holders[item] = worker->index;
    queue->next = clf__queue_waiting(queue, queue->next);
    worker->held += queue->costs[item];
}

void clf__worker_finish(struct clf__worker *worker, int item)
{
    struct clf__queue *queue = worker->pool->queue;
    clf__worker_lock(worker);
    queue->holders[item] = CLF__IS_DONE;
    queue->done++;
    queue->left -= queue->costs[item];
    worker->held -= queue->costs[item];
    worker->done += queue->costs[item];
    pthread_cond_broadcast(&worker->pool->changed);
    clf__worker_unlock(worker);
}

int clf__worker_wait(struct clf__worker *worker)
{
    struct clf__worker_pool *pool = worker->pool;
    double start = clf__seconds();
    clf__worker_lock(worker);
    int goes_on = !pool->stops && pool->queue->done < pool->queue->count;
    if (goes_on && !pool->is_alone) {
        wait_a_while(pool);
    }
    worker->waits += clf__seconds() - start;
    clf__worker_unlock(worker);
    return goes_on;
}

/* Takes an item; returns -1 if this worker may take none. */
static int take_one(struct clf__worker *worker)
{
    struct clf__queue *queue = worker->pool->queue;
    int item = -1;
    clf__worker_lock(worker);
    int place = clf__queue_waiting(queue, 0);
    if (place < queue->count && clf__worker_may_take(worker, 0, queue->costs[queue->order[place]])) {
        item = queue->order[place];
        clf__worker_take(worker, item);
    }
    clf__worker_unlock(worker);
    return item;
}

int clf__worker_next(struct clf__worker *worker)
{
    for (;;) {
        int item = take_one(worker);
        if (item >= 0 || !clf__worker_wait(worker)) {
            return item;
        }
    }
}

/* --- The calling thread waits, and runs the caller's callbacks. --- */

clf_status clf__translator_ask(const struct clf_translator *translator)
{
    const struct clf_translate_options *options = &translator->settings->options;
    if (options->poll != NULL) {
        options->poll(options->payload);
    }
    int stops = options->interrupted != NULL && options->interrupted(options->payload);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

/* Reports newly finished items to queue->passed. */
static clf_status pass(struct clf__worker_pool *pool)
{
    struct clf__queue *queue = pool->queue;
    if (queue->passed == NULL) {
        return CLF_OK;
    }
    pthread_mutex_lock(&pool->lock);
    int from = queue->passed_count, to = from;
    while (to < queue->items && queue->holders[to] == CLF__IS_DONE) {
        to++;
    }
    queue->passed_count = to;
    pthread_mutex_unlock(&pool->lock);
    return to > from ? queue->passed(pool->context, from, to) : CLF_OK;
}

void clf__worker_pool_stream(const struct clf_translator *translator, int line, const char *text, size_t size)
{
    struct clf__worker *worker = translator->worker;
    struct clf__worker_pool *pool = worker->pool;
    if (pool->is_alone) {
        translator->settings->options.streamed(line, text, size, translator->settings->options.payload);
        return;
    }
    clf__worker_lock(worker);
    while (pool->pending.text != NULL) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    pool->pending.text = text;
    pool->pending.size = size;
    pool->pending.line = line;
    pthread_cond_broadcast(&pool->changed);
    while (pool->pending.text == text) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    clf__worker_unlock(worker);
}

static void tell(struct clf__worker_pool *pool)
{
    const struct clf_translate_options *options = &pool->first->settings->options;
    pthread_mutex_unlock(&pool->lock);
    options->streamed(pool->pending.line, pool->pending.text, pool->pending.size, options->payload);
    pthread_mutex_lock(&pool->lock);
    pool->pending.text = NULL;
    pthread_cond_broadcast(&pool->changed);
}

/* Only the first failure is kept: later ones are consequences. */
static void stop(struct clf__worker_pool *pool, const struct clf__failure *failure)
{
    if (!pool->stops) {
        pool->failure = *failure;
    }
    pool->stops = 1;
    pthread_cond_broadcast(&pool->changed);
}

void clf__translator_sum_times(struct clf_translator *first)
{
    first->all_times = (struct clf_stage_times){.size = sizeof first->all_times};
    for (const struct clf_translator *each = first; each != NULL; each = each->next) {
        clf__times_add(&first->all_times, each->worker != NULL ? &each->worker->times : &each->times);
    }
}

static void ask(struct clf__worker_pool *pool)
{
    clf__translator_sum_times(pool->first);
    pthread_mutex_unlock(&pool->lock);
    clf_status status = pass(pool);
    status = status == CLF_OK ? clf__translator_ask(pool->first) : status;
    struct clf__failure answer = clf__failure_keep(status);
    pthread_mutex_lock(&pool->lock);
    if (answer.status != CLF_OK) {
        stop(pool, &answer);
    }
}

static void serve(struct clf__worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->working > 0) {
        if (pool->pending.text != NULL) {
            tell(pool);
            continue;
        }
        if (!pool->stops) {
            ask(pool);
        }
        if (pool->working > 0 && pool->pending.text == NULL) {
            wait_a_while(pool);
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

clf_status clf__translator_go_on(const struct clf_translator *translator)
{
    struct clf__worker *worker = translator->worker;
    if (worker == NULL || worker->pool->is_alone) {
        CLF__TRY(worker != NULL ? pass(worker->pool) : CLF_OK);
        return clf__translator_ask(translator);
    }
    clf__worker_lock(worker);
    worker->times = translator->times;
    int stops = worker->pool->stops;
    clf__worker_unlock(worker);
    return stops ? clf__fail(CLF_INTERRUPTED, "interrupted") : CLF_OK;
}

/* --- Workers. --- */

int clf__worker_pool_count(const struct clf_translator *first)
{
    int count = 0;
    for (; first != NULL; first = first->next) {
        count += !first->model->is_lost;
    }
    return count;
}

struct clf_translator *clf__worker_pool_available(struct clf_translator *first)
{
    struct clf_translator *available = first;
    while (available != NULL && available->model->is_lost) {
        available = available->next;
    }
    return available != NULL ? available : first;
}

/* Returns a worker's items to the queue. */
static void give_back(struct clf__worker *worker)
{
    struct clf__queue *queue = worker->pool->queue;
    for (int place = queue->count - 1; place >= 0; place--) {
        if (queue->holders[queue->order[place]] == worker->index) {
            queue->holders[queue->order[place]] = CLF__WAITS;
            queue->next = place < queue->next ? place : queue->next;
        }
    }
    worker->held = 0;
}

/* Returns whether the failure is logged as a warning because other workers remain. */
static int leave(struct clf__worker *worker, const struct clf__failure *failure)
{
    struct clf__worker_pool *pool = worker->pool;
    struct clf_translator *translator = worker->translator;
    int is_lost = clf__is_device_failure(failure->status) && !pool->is_alone && !pool->stops;
    give_back(worker);
    if (is_lost) {
        translator->model->is_lost = 1;
        is_lost = clf__worker_pool_count(pool->first) > 0;
    }
    if (failure->status != CLF_OK && !is_lost) {
        stop(pool, failure);
    }
    translator->pace.done = 0.5 * (translator->pace.done + (double)worker->done);
    translator->pace.seconds =
        0.5 * (translator->pace.seconds + clf__seconds() - worker->start - worker->waits);
    worker->is_working = 0;
    worker->times = translator->times;
    return is_lost;
}

static void *run_member(void *argument)
{
    struct clf__worker *worker = argument;
    struct clf__worker_pool *pool = worker->pool;
    struct clf__failure failure = clf__failure_keep(pool->work(worker, pool->context));
    clf__worker_lock(worker);
    int is_logged = leave(worker, &failure);
    clf__worker_unlock(worker);
    if (is_logged) {
        const struct clf_device_info *info =
            clf_device_describe(worker->translator->model->transformer->device);
        clf__log(CLF_LOG_WARNING, "device %d \"%s\": skipped, and the other devices take over its lines: %s",
                 info->index, info->name, failure.sentence);
    }
    clf__worker_lock(worker);
    pool->working--;
    pthread_cond_broadcast(&pool->changed);
    clf__worker_unlock(worker);
    return NULL;
}

/* Counts all workers before the first starts, so that each knows how many share the lines. */
static void run_threads(struct clf__worker_pool *pool)
{
    const struct clf__failure none = {CLF_OUT_OF_MEMORY, "cannot start a thread for a device"};
    pool->working = pool->count;
    for (int i = 0; i < pool->count; i++) {
        struct clf__worker *worker = &pool->workers[i];
        if (!clf__task_begin(&worker->task, run_member, worker)) {
            clf__worker_lock(worker);
            worker->is_working = 0;
            pool->working--;
            stop(pool, &none);
            clf__worker_unlock(worker);
        }
    }
    serve(pool);
    for (int i = 0; i < pool->count; i++) {
        clf__task_wait(&pool->workers[i].task);
    }
}

static void prepare_members(struct clf__worker_pool *pool)
{
    for (struct clf_translator *each = pool->first; each != NULL; each = each->next) {
        if (!each->model->is_lost || pool->is_alone) {
            struct clf__worker *worker = &pool->workers[pool->count];
            *worker = (struct clf__worker){.pool = pool,
                                           .translator = each,
                                           .index = pool->count++,
                                           .is_working = 1,
                                           .start = clf__seconds(),
                                           .times = each->times};
            each->worker = worker;
        }
    }
}

static clf_status run(struct clf__worker_pool *pool)
{
    if (!pool->is_alone) {
        CLF__TRY(clf__translator_ask(pool->first));
    }
    prepare_members(pool);
    if (pool->is_alone) {
        clf_status status = pool->work(&pool->workers[0], pool->context);
        pool->first->worker = NULL;
        return status;
    }
    run_threads(pool);
    for (struct clf_translator *each = pool->first; each != NULL; each = each->next) {
        each->worker = NULL;
    }
    clf__translator_sum_times(pool->first);
    return clf__failure_again(&pool->failure);
}

clf_status clf__worker_pool_run(struct clf_translator *first, struct clf__queue *queue,
                                clf__worker_work *work, void *context)
{
    struct clf__worker_pool pool = {.first = first,
                                    .queue = queue,
                                    .work = work,
                                    .context = context,
                                    .is_alone = first->next == NULL,
                                    .failure = {.status = CLF_OK}};
    int available = clf__worker_pool_count(first);
    if (available == 0 && !pool.is_alone) {
        return clf__fail(CLF_DEVICE, "all devices of the translator failed; open the devices again");
    }
    CLF__TRY(clf__allocate(&pool.workers, available > 0 ? (size_t)available : 1, sizeof *pool.workers));
    pthread_condattr_t clock;
    pthread_mutex_init(&pool.lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&pool.changed, &clock);
    clf_status status = run(&pool);
    status = status == CLF_OK ? pass(&pool) : status;
    pthread_cond_destroy(&pool.changed);
    pthread_condattr_destroy(&clock);
    pthread_mutex_destroy(&pool.lock);
    clf__free(pool.workers);
    return status;
}
