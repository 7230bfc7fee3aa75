/* Prepares a job for the queue, and ends it. */
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

clf_status clf__job_prepare(struct clf_engine *engine, struct clf__job *job)
{
    job->engine = engine;
    for (int i = 0; i < job->count; i++) {
        job->units[i].job = job;
        job->units[i].number = i;
    }
    clf_status status = sort_units(job);
    if (status != CLF_OK) {
        clf__job_end(job);
    }
    return status;
}

void clf__job_end(struct clf__job *job)
{
    clf__job_drop_parts(job);
    clf__free(job->order);
    job->order = NULL;
    if (job->times != NULL) {
        clf__engine_copy_times(job->engine, job->times);
    }
}
