/* Public jobs: handles of calls that run in the background. The file that submits jobs of a kind starts their
 * work, and stores their results in a struct that begins with struct clf_job. */
#ifndef CLF_ENGINE_HANDLE_H
#define CLF_ENGINE_HANDLE_H

#include <clformer/engine.h>

#include "engine/engine.h"

struct clf__handle_kind {
    const char *results,
        *take; /* for messages: the noun for the results, and the function that takes the results */
    /* Makes running work fail; needs the engine's lock. */
    void (*cancel)(struct clf_job *job, const struct clf__failure *failure);
    void (*leave)(struct clf_job *job); /* ends the use of the translator or transcriber */
    void (*free)(struct clf_job *job);
    int (*count)(struct clf_job *job); /* returns the number of finished lines or segments */
};

struct clf_job {
    const struct clf__handle_kind *kind;
    struct clf_engine *engine;
    struct clf_job_options options;
    struct clf__failure failure;
    /* Guarded by the engine's lock. */
    pthread_cond_t ended;
    int is_cancelled;
    int is_complete; /* the results or the failure are available */
    int is_over;     /* `finished` has returned: the thread of the callbacks does not use the job any more */
    int is_freed;    /* by a callback; the thread of the callbacks frees it */
};

/* Copies the options of a job; NULL for the defaults. */
clf_status clf__handle_options(struct clf_job_options *out, const struct clf_job_options *options);
void clf__handle_init(struct clf_job *job, const struct clf__handle_kind *kind, struct clf_engine *engine,
                      const struct clf_job_options *options);
/* Frees a job that has not started. */
void clf__handle_free(struct clf_job *job);

/* Keeps the failure of a job, if it has one, and calls `finished`, on the thread of the job's callbacks.
 * Afterwards the job may be freed. */
void clf__handle_finish(struct clf_job *job, clf_status status);

/* Checks that the calling thread may take the results of a job. */
clf_status clf__handle_check_take(struct clf_job *job, const struct clf__handle_kind *kind);
clf_status clf__handle_fail_taken(void);
clf_status clf__handle_fail_cancelled(void);

/* Declares that the calling thread calls the callbacks of a job; NULL: no longer. */
void clf__handle_set_here(const struct clf_job *job);
/* Returns whether the calling thread runs callbacks of jobs of an engine. */
int clf__handle_is_here(const struct clf_engine *engine);

#endif
