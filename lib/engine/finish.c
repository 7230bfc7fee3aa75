/* Ends units: lines and windows whose search has finished, and tasks. */
#include "engine/internal.h"

enum { MOST_ENDED = 64 };

/* Marks up to MOST_ENDED units of a lane as done. Their threads are woken when the lock is free, because each
 * of them takes it. */
static void end_units(struct clf_engine *engine, struct clf__lane *lane, struct clf__unit **units, int count)
{
    struct clf__waiter *woken[MOST_ENDED];
    pthread_mutex_lock(&engine->lock);
    clf__lane_show(lane); /* before the threads of the jobs see the units as done */
    for (int i = 0; i < count; i++) {
        woken[i] = clf__queue_finish(units[i]);
    }
    pthread_mutex_unlock(&engine->lock);
    for (int i = 0; i < count; i++) {
        clf__waiter_wake(woken[i]);
    }
}

/* Ends the job of a unit that failed, unless the failure is one of the device: returns that failure, and
 * another lane may take the unit. */
static clf_status fail_unit(struct clf_engine *engine, struct clf__unit *unit, clf_status status)
{
    struct clf__failure failure = clf__failure_keep(status);
    pthread_mutex_lock(&engine->lock);
    if (!clf__is_device_failure(status) || engine->count == 1) {
        clf__job_cancel(unit->job, &failure);
        status = CLF_OK;
    }
    clf__queue_return(unit);
    pthread_mutex_unlock(&engine->lock);
    return status == CLF_OK ? CLF_OK : clf__failure_again(&failure);
}

clf_status clf__unit_end(struct clf_engine *engine, struct clf__unit *unit, clf_status status)
{
    if (status != CLF_OK) {
        return fail_unit(engine, unit, status);
    }
    end_units(engine, unit->lane, &unit, 1);
    return CLF_OK;
}

/* Takes the next line whose search has finished, and streams the rest of its text. */
static clf_status take_line(struct clf__lane *lane, struct clf__unit **out)
{
    CLF__TRY(clf__lane_take(lane, out));
    struct clf__unit *unit = *out;
    return unit != NULL && unit->settings->options.streamed != NULL && unit->result->count > 0
               ? clf__unit_stream(unit, unit->result->hypotheses[0].text, 1)
               : CLF_OK;
}

clf_status clf__lane_finish_lines(struct clf_engine *engine, struct clf__lane *lane)
{
    struct clf__unit *unit, *finished[MOST_ENDED];
    clf_status status = CLF_OK;
    int count = 0;
    do {
        clf_status line_status = take_line(lane, &unit);
        if (unit != NULL && line_status != CLF_OK) {
            status = fail_unit(engine, unit, line_status);
        } else if (unit != NULL) {
            finished[count++] = unit;
        }
        if (count == MOST_ENDED || unit == NULL || status != CLF_OK) {
            end_units(engine, lane, finished, count);
            count = 0;
        }
    } while (unit != NULL && status == CLF_OK);
    return status;
}

clf_status clf__lane_finish_windows(struct clf_engine *engine, struct clf__lane *lane)
{
    struct clf__unit *unit;
    do {
        CLF__TRY(clf__windows_take(lane, &unit));
        CLF__TRY(unit != NULL ? clf__unit_end(engine, unit, CLF_OK) : CLF_OK);
    } while (unit != NULL);
    return CLF_OK;
}
