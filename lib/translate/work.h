/* The lines of one call. */
#ifndef CLF_TRANSLATE_WORK_H
#define CLF_TRANSLATE_WORK_H

#include "translate/worker_pool.h"

struct clf__work {
    struct clf_translator *translator;   /* the first translator; it reads the lines */
    struct clf__source *sources;         /* (count) */
    struct clf__ids *prefixes;           /* (count) target prefixes, if this call reads them; or NULL */
    struct clf__search_options *options; /* (count) search options of each source */
    struct clf_translation *results;
    int count;
    struct clf__streamed *streamed; /* (count) NULL: no streaming */
    const struct clf_line *lines;
    clf__emit *emit; /* emit function of the request */
    void *user;
};

/* Runs the search for the queue's lines; `context` is the struct clf__work. */
clf_status clf__search_lines(struct clf__worker *worker, void *context);

/* Creates the session for searches if it does not exist. */
clf_status clf__search_session(struct clf_translator *translator);

#endif
