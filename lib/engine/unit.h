/* A unit of work of an engine: a line or a window of speech under search, or a task that a device runs at
 * once. */
#ifndef CLF_ENGINE_UNIT_H
#define CLF_ENGINE_UNIT_H

#include "engine/settings.h"

struct clf__job;
struct clf__lane;
struct clf__window;
struct clf__terms;

/* An encoded source: ids or frames. */
struct clf__source {
    struct clf__ids ids;
    float *frames;
    int length;   /* tokens or frames; 0: empty */
    int cut_from; /* as in struct clf_translation */
};

/* The part of a line's translation already streamed: size bytes of text. */
struct clf__streamed {
    char *text;
    size_t size;
};

/* The tokens of a line that were given to the hook `generated`. */
struct clf__emitted {
    int count;
    double sum; /* of their log-probabilities */
    /* Guarded by the engine's lock, with the same meaning: the tokens of a translation that the hook has
     * ended; kept 0: it has not. */
    int kept;
    double kept_sum;
};

/* A unit that has returned waits for its job's `returned`. */
enum clf__unit_state { CLF__UNIT_WAITS, CLF__UNIT_HELD, CLF__UNIT_RETURNED, CLF__UNIT_DONE };

/* The next step of a returned unit. NONE: the unit is done. SEARCH: another search. LATER: `returned` is
 * called again after another unit of the job has begun a search or is done. */
enum { CLF__NEXT_NONE, CLF__NEXT_SEARCH, CLF__NEXT_LATER };

struct clf__unit {
    struct clf__job *job;
    int number;   /* index in its job */
    int position; /* index in the order of its job */
    int cost;     /* tokens or frames; 0: nothing to do */
    /* Guarded by the engine's lock. */
    enum clf__unit_state state;
    struct clf__lane *lane; /* the lane that holds it */
    struct clf__unit *next_returned;
    struct clf__window *window; /* the window under search; NULL: none */
    /* For a line under search: */
    const struct clf_line *line;
    struct clf__source source;
    struct clf__ids prefix; /* target prefix */
    const struct clf__settings *settings;
    struct clf__terms *terms;          /* that its translation must contain; NULL: none */
    struct clf__search_options search; /* options for this line */
    struct clf_translation *result;
    struct clf__streamed streamed;
    struct clf__emitted emitted;
};

#endif
