/* The jobs of an engine, and the order in which lanes take their units. */
#include <limits.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "engine/internal.h"
#include "engine/terms.h"

/* Lists a job for the service thread, or returns the waiter of its thread. */
static struct clf__waiter *note_change(struct clf__job *job)
{
    struct clf__service *service = &job->engine->service;
    if (job->over != NULL && !job->has_news) {
        job->has_news = 1;
        job->next_news = NULL;
        *(service->last != NULL ? &service->last->next_news : &service->first) = job;
        service->last = job;
        pthread_cond_signal(&service->news);
    }
    return job->waiter;
}

void clf__job_notify(struct clf__job *job)
{
    clf__waiter_wake(note_change(job));
}

/* Lists a unit for its job's `returned`. */
static void give_to_owner(struct clf__unit *unit)
{
    struct clf__job *job = unit->job;
    unit->state = CLF__UNIT_RETURNED;
    unit->next_returned = NULL;
    *(job->returned_last != NULL ? &job->returned_last->next_returned : &job->returned_first) = unit;
    job->returned_last = unit;
}

struct clf__unit *clf__queue_take_returned(struct clf__job *job)
{
    struct clf__unit *unit = job->returned_first;
    if (unit != NULL) {
        job->returned_first = unit->next_returned;
        job->returned_last = job->returned_first != NULL ? job->returned_last : NULL;
    }
    return unit;
}

void clf__queue_renew(struct clf__unit *unit, int next)
{
    struct clf__job *job = unit->job;
    if (next == CLF__NEXT_LATER && !job->is_cancelled) {
        unit->next_returned = job->later;
        job->later = unit;
        return;
    }
    if (next == CLF__NEXT_SEARCH && !job->is_cancelled) {
        unit->state = CLF__UNIT_WAITS;
        job->next_position = clf__min_int(job->next_position, unit->position);
        job->engine->left += unit->cost;
        job->engine->arrivals++;
        pthread_cond_broadcast(&job->engine->work);
    } else {
        unit->state = CLF__UNIT_DONE;
        job->done++;
        clf__job_notify(job);
    }
    while (job->later != NULL) {
        struct clf__unit *later = job->later;
        job->later = later->next_returned;
        give_to_owner(later);
    }
}

/* Gives a job a waiter. */
static clf_status add_waiter(struct clf_engine *engine, struct clf__job *job)
{
    struct clf__waiter *waiter = engine->spare;
    if (waiter == NULL) {
        CLF__TRY(clf__allocate(&waiter, 1, sizeof *waiter));
        clf__condition_init(&waiter->woken);
    } else {
        engine->spare = waiter->next;
    }
    job->waiter = waiter;
    return CLF_OK;
}

static void remove_waiter(struct clf_engine *engine, struct clf__job *job)
{
    if (job->waiter != NULL) {
        job->waiter->next = engine->spare;
        engine->spare = job->waiter;
        job->waiter = NULL;
    }
}

clf_status clf__queue_add(struct clf_engine *engine, struct clf__job *job)
{
    CLF__TRY(job->over == NULL ? add_waiter(engine, job) : CLF_OK);
    for (int i = 0; i < job->order_count; i++) {
        struct clf__unit *unit = &job->units[job->order[i]];
        if (job->returned != NULL) {
            give_to_owner(unit);
        } else {
            engine->left += unit->cost;
        }
    }
    job->previous = engine->last;
    *(engine->last != NULL ? &engine->last->next : &engine->first) = job;
    engine->last = job;
    engine->jobs++;
    engine->shared = engine->jobs > 1 ? clf__seconds() : engine->shared;
    engine->arrivals++;
    job->turn = ++engine->turns;
    pthread_cond_broadcast(&engine->work);
    return CLF_OK;
}

void clf__queue_remove(struct clf_engine *engine, struct clf__job *job)
{
    *(job->previous != NULL ? &job->previous->next : &engine->first) = job->next;
    *(job->next != NULL ? &job->next->previous : &engine->last) = job->previous;
    engine->jobs--;
    job->is_retired = 1;
    remove_waiter(engine, job);
}

void clf__queue_end(struct clf_engine *engine)
{
    while (engine->spare != NULL) {
        struct clf__waiter *waiter = engine->spare;
        engine->spare = waiter->next;
        pthread_cond_destroy(&waiter->woken);
        clf__free(waiter);
    }
}

static void skip_taken(struct clf__job *job)
{
    while (job->next_position < job->order_count &&
           job->units[job->order[job->next_position]].state != CLF__UNIT_WAITS) {
        job->next_position++;
    }
}

static int waits_for(struct clf__job *job, const struct clf__lane *lane)
{
    skip_taken(job);
    return !job->is_cancelled && job->next_position < job->order_count &&
           (job->lane == NULL || job->lane == lane);
}

static struct clf__unit *next_of(struct clf__job *job)
{
    return &job->units[job->order[job->next_position]];
}

int clf__unit_is_served(const struct clf__unit *unit, const struct clf__lane *lane)
{
    return unit->window != NULL ? clf__windows_serve(&lane->windows, unit->window)
                                : clf__lane_serves(lane, clf__unit_capacity(unit), unit->job->longest_source);
}

/* Compares jobs that have a waiting unit. */
static int comes_before(const struct clf__job *a, const struct clf__job *b)
{
    enum { MOST_OVERTAKINGS = 32 }; /* as clf_priority documents */
    if (a->is_bulk != b->is_bulk) {
        return a->is_bulk == (a->engine->overtakings >= MOST_OVERTAKINGS);
    }
    return a->held != b->held ? a->held < b->held : a->turn < b->turn;
}

/* Returns the job that comes first. A bulk line is not taken while an interactive one waits for another
 * session, which it would delay. */
static struct clf__job *find_first(struct clf_engine *engine, const struct clf__lane *lane, int is_served)
{
    struct clf__job *best = NULL;
    int delays = 0;
    for (struct clf__job *job = engine->first; job != NULL; job = job->next) {
        if (!waits_for(job, lane)) {
            continue;
        }
        if (is_served && (job->run != NULL || !clf__unit_is_served(next_of(job), lane))) {
            delays |= !job->is_bulk;
        } else if (best == NULL || comes_before(job, best)) {
            best = job;
        }
    }
    return best != NULL && best->is_bulk && delays ? NULL : best;
}

struct clf__unit *clf__queue_next(struct clf_engine *engine, const struct clf__lane *lane, int is_served)
{
    struct clf__job *best = find_first(engine, lane, is_served);
    return best != NULL && (best->lane != NULL || clf__pace_allows(engine, lane, next_of(best)->cost))
               ? next_of(best)
               : NULL;
}

int clf__queue_is_empty(const struct clf_engine *engine)
{
    for (struct clf__job *job = engine->first; job != NULL; job = job->next) {
        if (waits_for(job, job->lane)) {
            return 0;
        }
    }
    return 1;
}

void clf__queue_hold(struct clf__unit *unit, struct clf__lane *lane)
{
    struct clf_engine *engine = unit->job->engine;
    unit->state = CLF__UNIT_HELD;
    unit->lane = lane;
    unit->job->held++;
    unit->job->turn = ++engine->turns;
    engine->overtakings = unit->job->is_bulk ? 0 : clf__min_int(engine->overtakings, INT_MAX - 1) + 1;
    lane->held += unit->cost;
}

static void leave(struct clf__unit *unit)
{
    unit->job->held--;
    unit->lane->held -= unit->cost;
    unit->lane = NULL;
}

void clf__queue_return(struct clf__unit *unit)
{
    leave(unit);
    unit->state = CLF__UNIT_WAITS;
    unit->job->next_position = clf__min_int(unit->job->next_position, unit->position);
    if (unit->job->is_cancelled) {
        unit->state = CLF__UNIT_DONE;
        unit->job->engine->left -= unit->cost;
        clf__job_notify(unit->job);
    }
}

struct clf__waiter *clf__queue_finish(struct clf__unit *unit)
{
    struct clf__job *job = unit->job;
    job->engine->left -= unit->cost;
    unit->lane->pace.done += unit->cost;
    leave(unit);
    if (job->returned != NULL) {
        give_to_owner(unit);
    } else {
        unit->state = CLF__UNIT_DONE;
        job->done++;
    }
    return note_change(job);
}

void clf__job_cancel(struct clf__job *job, const struct clf__failure *failure)
{
    if (job->is_cancelled || job->is_retired) {
        return; /* later failures are consequences */
    }
    job->is_cancelled = 1;
    job->failure = *failure;
    for (int i = 0; i < job->count; i++) {
        struct clf__unit *unit = &job->units[i];
        if (unit->state == CLF__UNIT_WAITS) {
            unit->state = CLF__UNIT_DONE;
            job->engine->left -= unit->cost;
        }
    }
    clf__job_notify(job);
}

/* Returns tokens per second; 0: unknown. */
static double pace_of(const struct clf__lane *lane)
{
    return lane->pace.done > 0 && lane->pace.seconds > 0 ? lane->pace.done / lane->pace.seconds : 0;
}

int clf__pace_allows(const struct clf_engine *engine, const struct clf__lane *lane, int cost)
{
    double fastest = 0, all = 0, own = 0;
    if (engine->count == 1) {
        return 1;
    }
    for (int i = 0; i < engine->count; i++) {
        double pace = engine->lanes[i].is_lost ? 0 : pace_of(&engine->lanes[i]);
        fastest = pace > fastest ? pace : fastest;
    }
    fastest = fastest > 0 ? fastest : 1; /* no lane has a pace yet: all are equal */
    for (int i = 0; i < engine->count; i++) {
        const struct clf__lane *each = &engine->lanes[i];
        if (!each->is_lost) {
            double pace = pace_of(each);
            pace = pace > 0 ? pace : fastest; /* a lane without a pace counts as the fastest */
            all += pace;
            own = each == lane ? pace : own;
        }
    }
    int is_next = lane->held == 0 && own >= fastest;
    return is_next || (double)lane->held + 0.5 * cost <= (double)engine->left * own / all;
}
