/* Runs a lane: admits units, runs a step of all active lines and windows, and finishes units. */
#include <sched.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "engine/internal.h"
#include "engine/terms.h"

/* The next work of a lane. */
struct turn {
    int lines;                  /* to admit, in lane->chosen and lane->slots */
    int windows;                /* to admit, in lane->windows.chosen and .chosen_slots */
    int64_t tokens;             /* of the lines under search and to admit */
    int starts_job;             /* one of the units is the first of its job */
    struct clf__unit *task;     /* a task to run */
    int leaves_task;            /* a task must wait for the next turn */
    struct clf__unit *unserved; /* a unit that needs another session, which is created first */
};

static int count_units(const struct turn *turn)
{
    return turn->lines + turn->windows;
}

/* Removes the lines and windows of cancelled jobs. */
static void drop_cancelled(struct clf__lane *lane)
{
    for (int slot = 0; lane->units != NULL && slot < lane->max_lines; slot++) {
        struct clf__unit *unit = lane->units[slot];
        if (unit != NULL && unit->job->is_cancelled) {
            clf__lane_remove(lane, slot);
            clf__queue_return(unit);
        }
    }
    for (int slot = 0; slot < lane->windows.slots; slot++) {
        struct clf__unit *unit = lane->windows.units[slot];
        if (unit != NULL && unit->job->is_cancelled) {
            clf__windows_remove(&lane->windows, slot);
            clf__queue_return(unit);
        }
    }
}

/* Returns the first free slot of `count`, `from` or later; `count` if there is none. */
static int find_free_slot(struct clf__unit *const *units, int count, int from)
{
    while (from < count && units[from] != NULL) {
        from++;
    }
    return from;
}

/* Reserves a free slot, `from` or later, for a line that fits in the budget; returns -1 if there is none. */
static int reserve(struct clf__lane *lane, const struct clf__unit *unit, int from, int64_t tokens)
{
    int slot = find_free_slot(lane->units, lane->max_lines, from);
    int is_alone = tokens == 0; /* a single line may exceed the budget */
    return slot < lane->max_lines && (is_alone || tokens + unit->cost <= lane->batch_tokens) &&
                   clf__lane_reserve(lane, slot, unit->source.length)
               ? slot
               : -1;
}

static int is_task(const struct clf__unit *unit)
{
    return unit->job->run != NULL || (unit->window != NULL && unit->window->kind->task != NULL);
}

/* Chooses a line or a window if there is a free slot. */
static int choose_unit(struct turn *turn, struct clf__lane *lane, struct clf__unit *unit)
{
    struct clf__windows *windows = &lane->windows;
    if (unit->window != NULL) {
        int last = turn->windows > 0 ? windows->chosen_slots[turn->windows - 1] : -1;
        int slot = find_free_slot(windows->units, windows->slots, last + 1);
        if (slot == windows->slots) {
            return 0;
        }
        windows->chosen_slots[turn->windows] = slot;
        windows->chosen[turn->windows++] = unit;
        return 1;
    }
    int slot = reserve(lane, unit, turn->lines > 0 ? lane->slots[turn->lines - 1] + 1 : 0, turn->tokens);
    if (slot < 0) {
        return 0;
    }
    lane->slots[turn->lines] = slot;
    lane->chosen[turn->lines++] = unit;
    turn->tokens += unit->cost;
    return 1;
}

/* Chooses as many waiting units as there are free slots. If the next unit needs another session, no unit is
 * admitted until all searches have finished. An empty lane is first filled with units that its sessions can
 * serve. */
static void choose_units(struct turn *turn, struct clf_engine *engine, struct clf__lane *lane)
{
    int is_empty = clf__lane_searched(lane) == 0;
    turn->tokens = lane->searched_tokens;
    for (;;) {
        struct clf__unit *unit = clf__queue_next(engine, lane, count_units(turn) > 0 && is_empty);
        if (unit == NULL) {
            return;
        }
        if (unit->job->run == NULL && !clf__unit_is_served(unit, lane)) {
            turn->unserved = is_empty ? unit : NULL;
            return;
        }
        if (is_task(unit)) {
            turn->leaves_task = count_units(turn) > 0;
            turn->task = turn->leaves_task ? NULL : unit;
            return;
        }
        if (!choose_unit(turn, lane, unit)) {
            return;
        }
        turn->starts_job |= unit->job->held + unit->job->done == 0;
        clf__queue_hold(unit, lane);
    }
}

/* Returns the chosen units, as if none had been taken. */
static void give_back(struct turn *turn, struct clf__lane *lane, int overtakings)
{
    for (int i = 0; i < turn->lines; i++) {
        clf__lane_unreserve(lane, lane->slots[i]);
        clf__queue_return(lane->chosen[i]);
    }
    for (int i = 0; i < turn->windows; i++) {
        clf__queue_return(lane->windows.chosen[i]);
    }
    turn->lines = turn->windows = 0;
    lane->engine->overtakings = overtakings;
}

/* Units are admitted in groups, once they are a quarter of the units under search: each call of the encoder
 * reads all of its weights, and a step with three quarters of its rows is almost as efficient. The first
 * units of a job wait for at most MOST_WAITED_STEPS steps; the last units in the queue do not wait. */
static struct turn choose(struct clf_engine *engine, struct clf__lane *lane)
{
    enum { MOST_WAITED_STEPS = 6 };
    struct turn turn = {0};
    int searched = clf__lane_searched(lane);
    if (searched > 0 && lane->waited_steps == 0 && lane->seen_arrivals == engine->arrivals &&
        lane->seen_searched == searched) {
        return turn; /* nothing has changed since the last attempt */
    }
    int overtakings = engine->overtakings;
    choose_units(&turn, engine, lane);
    int is_few = 3 * count_units(&turn) < searched;
    if (is_few && (turn.starts_job ? lane->waited_steps < MOST_WAITED_STEPS : !clf__queue_is_empty(engine))) {
        lane->waited_steps += turn.starts_job;
        give_back(&turn, lane, overtakings);
    } else {
        lane->waited_steps = 0;
    }
    if (turn.task != NULL) {
        clf__queue_hold(turn.task, lane);
    }
    if (turn.unserved != NULL) {
        clf__queue_hold(turn.unserved, lane); /* its job must not end during the work */
    }
    lane->seen_arrivals =
        engine->arrivals - (uint64_t)turn.leaves_task; /* so that the next turn looks again */
    lane->seen_searched = searched + count_units(&turn);
    return turn;
}

static clf_status enlarge(const struct clf_engine *engine, struct clf__lane *lane,
                          const struct clf__unit *unit)
{
    if (unit->window != NULL) {
        return clf__windows_fit(lane, unit->window->capacity, engine->batch_windows);
    }
    const struct clf__capacity *needed = clf__unit_capacity(unit);
    if (!clf__capacity_covers(&lane->capacity, needed)) {
        CLF__TRY(clf__lane_fit(lane, needed, engine->batch_tokens));
    }
    CLF__TRY(clf__lane_grow(lane, unit->job->longest_source));
    return clf__lane_prepare(lane);
}

/* Creates a session that serves a unit in addition to earlier ones. If it does not fit in the memory of the
 * device, the unit's job ends and the lane keeps its sizes; a device that has not served any unit yet has
 * failed. */
static clf_status serve(struct clf_engine *engine, struct clf__lane *lane, const struct clf__unit *unit)
{
    struct clf__capacity capacity = lane->capacity;
    struct clf__window_capacity window_capacity = lane->windows.capacity;
    int tokens = lane->batch_tokens, lines = lane->max_lines, length = lane->source_length;
    clf_status status = enlarge(engine, lane, unit);
    if (status == CLF_OK) {
        lane->has_served = 1;
    }
    if (status != CLF_OK && unit->window != NULL) { /* clf__engine_fit_windows() created a session before */
        lane->windows.capacity = window_capacity;
    }
    if (status == CLF_OK || status == CLF_DEVICE || (unit->window == NULL && !lane->has_served)) {
        return status;
    }
    struct clf__failure failure = clf__failure_keep(status);
    if (unit->window == NULL) {
        clf__lane_release(lane);
        lane->capacity = capacity;
        lane->batch_tokens = tokens;
        lane->max_lines = lines;
        lane->source_length = length;
    }
    pthread_mutex_lock(&engine->lock);
    clf__job_cancel(unit->job, &failure);
    pthread_mutex_unlock(&engine->lock);
    return CLF_OK;
}

static clf_status stream_lines(struct clf__lane *lane)
{
    double start = clf__seconds();
    for (int slot = 0; slot < lane->max_lines; slot++) {
        struct clf__unit *unit = lane->units[slot];
        char *text = NULL;
        if (unit == NULL || unit->settings->options.streamed == NULL || unit->terms != NULL) {
            continue; /* the best beam of a line with terms changes, so its text is streamed at the end */
        }
        CLF__TRY(clf__lane_text(&text, lane, slot));
        clf_status status = text != NULL ? clf__unit_stream(unit, text, 0) : CLF_OK;
        clf__free(text);
        CLF__TRY(status);
    }
    lane->times.detokenize += clf__seconds() - start;
    return CLF_OK;
}

static clf_status run_task(struct clf__lane *lane, struct clf__unit *unit)
{
    const struct clf__job *job = unit->job;
    return job->run != NULL ? job->run(job->context, lane, unit) : clf__windows_run(lane, unit);
}

/* Does the work of a turn, without holding the lock. */
static clf_status work(struct clf_engine *engine, struct clf__lane *lane, const struct turn *turn)
{
    if (turn->task != NULL) {
        CLF__TRY(clf__unit_end(engine, turn->task, run_task(lane, turn->task)));
    }
    if (turn->unserved != NULL) {
        return serve(engine, lane, turn->unserved);
    }
    CLF__TRY(turn->lines > 0 ? clf__lane_add(lane, turn->lines) : CLF_OK);
    CLF__TRY(turn->windows > 0 ? clf__windows_add(lane, turn->windows) : CLF_OK);
    if (lane->windows.searched > 0) {
        CLF__TRY(clf__windows_step(lane));
        CLF__TRY(clf__lane_finish_windows(engine, lane));
    }
    if (lane->searched == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__lane_step(lane));
    CLF__TRY(stream_lines(lane));
    CLF__TRY(clf__tokens_emit(lane));
    CLF__TRY(clf__lane_finish_lines(engine, lane));
    clf__lane_rest(lane);
    return CLF_OK;
}

/* Returns a unit under search of a lane that has failed. */
static void return_unit(struct clf__unit *unit, int goes_on, const struct clf__failure *failure)
{
    if (unit != NULL && !goes_on) {
        clf__job_cancel(unit->job, failure);
    }
    if (unit != NULL) {
        clf__queue_return(unit);
    }
}

/* Ends the jobs of all units on a lane that has failed. If other devices work, they take the units over. */
static void fail(struct clf_engine *engine, struct clf__lane *lane, const struct turn *turn,
                 const struct clf__failure *failure)
{
    int is_lost = clf__is_device_failure(failure->status) && engine->count > 1;
    if (is_lost) {
        lane->is_lost = lane->model->is_lost = 1;
    }
    int goes_on = is_lost && clf__engine_working(engine) > 0;
    if (turn->unserved != NULL && !goes_on) {
        clf__job_cancel(turn->unserved->job, failure);
    }
    for (int slot = 0; lane->units != NULL && slot < lane->max_lines; slot++) {
        return_unit(lane->units[slot], goes_on, failure);
    }
    for (int slot = 0; slot < lane->windows.slots; slot++) {
        return_unit(lane->windows.units[slot], goes_on, failure);
    }
    clf__lane_clear(lane);
    for (struct clf__job *job = engine->first; job != NULL && is_lost; job = job->next) {
        if (!goes_on || job->lane == lane) {
            clf__job_cancel(job, failure);
        }
    }
    engine->arrivals++;
    pthread_cond_broadcast(&engine->work);
}

static void warn_of_loss(const struct clf__lane *lane, const struct clf__failure *failure)
{
    const struct clf_device_info *info = clf_device_describe(lane->model->transformer->device);
    clf__log(CLF_LOG_WARNING, "device %d \"%s\": skipped, and the other devices take over its lines: %s",
             info->index, info->name, failure->sentence);
}

/* Adds the time of a turn; older work counts less. */
static void add_pace(struct clf__lane *lane, double seconds)
{
    enum { RECENT_SECONDS = 20 };
    lane->pace.seconds += seconds;
    if (lane->pace.seconds > RECENT_SECONDS) {
        lane->pace.seconds /= 2;
        lane->pace.done /= 2;
    }
}

static void run_turn(struct clf_engine *engine, struct clf__lane *lane, const struct turn *turn)
{
    pthread_mutex_unlock(&engine->lock);
    double start = clf__seconds();
    struct clf__failure failure = clf__failure_keep(work(engine, lane, turn));
    double spent = clf__seconds() - start;
    pthread_mutex_lock(&engine->lock);
    add_pace(lane, spent);
    clf__lane_show(lane);
    if (failure.status != CLF_OK) {
        fail(engine, lane, turn, &failure);
    }
    if (turn->unserved != NULL) {
        clf__queue_return(turn->unserved);
    }
    if (lane->is_lost && clf__engine_working(engine) > 0) {
        pthread_mutex_unlock(&engine->lock);
        warn_of_loss(lane, &failure);
        pthread_mutex_lock(&engine->lock);
    }
}

void clf__job_ask(struct clf_engine *engine, struct clf__job *job)
{
    job->is_asking = 1;
    pthread_mutex_unlock(&engine->lock);
    struct clf__failure answer = clf__failure_keep(clf__job_go_on(job));
    pthread_mutex_lock(&engine->lock);
    job->is_asking = 0;
    if (answer.status != CLF_OK) {
        clf__job_cancel(job, &answer);
    }
}

/* Lets the waiting thread of another job run the lane. */
static void offer_lane(const struct clf_engine *engine)
{
    struct clf__job *other = engine->first;
    while (other != NULL && (clf__job_is_over(other) || other->is_asking)) {
        other = other->next;
    }
    if (other != NULL) {
        clf__job_notify(other);
    }
}

/* Calls the hooks of the job whose thread runs the lane. Another thread may run the lane meanwhile, so that
 * slow hooks delay no other job; returns 0 if it still does. */
static int ask_driver(struct clf_engine *engine, struct clf__lane *lane, struct clf__job *job)
{
    lane->is_driven = 0;
    if (job->returned_first != NULL) { /* `returned` may read a recording */
        job->is_asking = 1;
        offer_lane(engine);
    }
    clf__job_ask(engine, job);
    int is_free = !lane->is_driven;
    lane->is_driven = 1;
    return is_free;
}

void clf__engine_wait(struct clf_engine *engine, pthread_cond_t *condition, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(condition, &engine->lock, &until);
}

static int drives_on(const struct clf_engine *engine, const struct clf__lane *lane,
                     const struct clf__job *job)
{
    return job != NULL ? !clf__job_is_over(job) && !engine->is_threaded : !engine->stops && !lane->is_lost;
}

/* Before an idle lane starts, waits briefly for lines that other threads are about to submit, so that they
 * share one encoder batch: while a thread reads its lines, and, if several jobs were active a moment ago,
 * while jobs arrive. */
static void await_lines(struct clf_engine *engine, const struct clf__lane *lane)
{
    static const double most_seconds = 1e-3, recent_seconds = 0.1, pause_seconds = 3e-5;
    double start = clf__seconds(), now = start, last = start;
    int expects_more = start - engine->shared < recent_seconds;
    while (engine->first != NULL && clf__lane_searched(lane) == 0 && now - start < most_seconds &&
           ((expects_more && now - last < pause_seconds) || atomic_load(&engine->preparing) > 0)) {
        uint64_t arrivals = engine->arrivals;
        pthread_mutex_unlock(&engine->lock);
        sched_yield();
        pthread_mutex_lock(&engine->lock);
        now = clf__seconds();
        last = engine->arrivals != arrivals ? now : last;
    }
}

/* Waits for a job, or, if there are jobs, while other lanes run their units and the pace decides. */
static void await_work(struct clf_engine *engine)
{
    if (engine->first == NULL) {
        pthread_cond_wait(&engine->work, &engine->lock);
    } else {
        clf__engine_wait(engine, &engine->work, CLF__HOOKS_MILLISECONDS);
    }
}

/* Lets the lane's thread, or that of another job, run the lane. */
static void hand_over(struct clf_engine *engine, struct clf__lane *lane)
{
    lane->is_driven = 0;
    if (engine->is_threaded) {
        pthread_cond_broadcast(&engine->work);
    } else {
        offer_lane(engine);
    }
}

void clf__lane_drive(struct clf_engine *engine, struct clf__lane *lane, struct clf__job *job)
{
    lane->is_driven = 1;
    for (int is_ready = 0; drives_on(engine, lane, job);) {
        if (job != NULL && !job->is_cancelled && !is_ready && !ask_driver(engine, lane, job)) {
            return;
        }
        await_lines(engine, lane);
        drop_cancelled(lane);
        clf__tokens_stop(lane);
        struct turn turn = choose(engine, lane);
        is_ready = turn.unserved != NULL; /* the next turn admits the line */
        if (count_units(&turn) > 0 || turn.task != NULL || turn.unserved != NULL ||
            clf__lane_searched(lane) > 0) {
            run_turn(engine, lane, &turn);
        } else if (drives_on(engine, lane, job)) { /* await_lines() may have released the lock */
            await_work(engine);
        }
    }
    hand_over(engine, lane);
}
