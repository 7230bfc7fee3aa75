/* Shared by the files of this folder. */
#ifndef CLF_TRANSLATE_INTERNAL_H
#define CLF_TRANSLATE_INTERNAL_H

#include <clformer/translator.h>

#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/results.h"

struct clf_translator {
    struct clf_engine *engine;
    int owns_engine;
    struct clf__settings *settings;
    struct clf_translator_device described; /* result of clf_translator_device_at() */
    struct clf_stage_times times;           /* the engine's times after the last call */
    struct clf_stage_times device_times;
    atomic_int calls; /* running calls */
};

/* Begin and end a call that uses a translator. clf__translator_begin() returns CLF_BAD_ARGUMENT for a NULL
 * translator or a call from one of the translator's own callbacks. */
clf_status clf__translator_begin(struct clf_translator *translator);
void clf__translator_end(struct clf_translator *translator);

/* Runs a job with the translator's hooks. */
clf_status clf__translator_run(struct clf_translator *translator, struct clf__job *job);

/* Runs one task on a lane; NULL: on any lane whose device works. */
clf_status clf__translator_run_task(struct clf_translator *translator, struct clf__lane *lane,
                                    clf__unit_run *run, void *context);

/* Reads a line into a source; recordings are read by one thread at a time. */
clf_status clf__translator_read(struct clf__source *out, struct clf_translator *translator,
                                const struct clf_line *line);

/* Called on the calling thread when all lines of a request before `to` are translated; lines before `from`
 * were emitted earlier. `results` is the array that the call returns. */
typedef clf_status clf__emit(void *user, struct clf_translation *results, int from, int to);

/* Lines to translate and their target prefixes. */
struct clf__request {
    const struct clf_line *lines;    /* (count) */
    const struct clf_line *prefixes; /* (count) or NULL */
    const struct clf__ids *begun;    /* (count) ids that replace prefixes, or NULL; owned by the caller */
    int count;
    clf__emit *emit; /* may be NULL */
    void *user;      /* first argument of `emit` */
};

/* clf_translate_prefixed() for unsplit lines, within a call, with the settings of the translator or of its
 * alternatives. */
clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          struct clf__settings *settings, const struct clf__request *request);

/* clf__translate() for options with alternatives. */
clf_status clf__translate_alternatives(struct clf_translation **out, struct clf_translator *translator,
                                       const struct clf__request *request);

/* Returns CLF_BAD_ARGUMENT for an invalid array of `count` lines. */
clf_status clf__translator_check_lines(const struct clf_line *lines, int count);

#endif
