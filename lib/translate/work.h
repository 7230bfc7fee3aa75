/* The lines of one call while they are translated. */
#ifndef CLF_TRANSLATE_WORK_H
#define CLF_TRANSLATE_WORK_H

#include "translate/team.h"

struct clf__work {
    struct clf_translator *translator;   /* the first one: it reads the lines */
    struct clf__source *sources;         /* (count) */
    struct clf__ids *prefixes;           /* (count) what targets begin with, where it is read here; or NULL */
    struct clf__search_options *options; /* (count) beside these */
    struct clf_translation *results;
    int count;
    struct clf__told *told; /* (count) NULL: nobody is told before the end */
    const struct clf_line *lines;
    clf__emit *emit; /* of the request */
    void *user;
};

/* Searches for the translations of the queue's lines; `context` is the struct clf__work. */
clf_status clf__search_lines(struct clf__member *member, void *context);

/* Makes the session of searches, where there is none yet. */
clf_status clf__search_session(struct clf_translator *translator);

#endif
