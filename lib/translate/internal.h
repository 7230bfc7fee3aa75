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

/* Finds which part of a sentence each token of its translation is aligned with; `hypothesis` has an
 * alignment. The caller frees *out with clf__free(). */
clf_status clf__links_of_text(struct clf_alignment_link **out, int *count,
                              const struct clf__settings *settings, const struct clf_line *source,
                              const struct clf_hypothesis *hypothesis);

/* Called on the thread of the job's hooks when all lines of a request before `to` are translated; lines
 * before `from` were emitted earlier. `results` is the array that the call returns. */
typedef clf_status clf__emit(void *user, struct clf_translation *results, int from, int to);

/* Lines to translate and their target prefixes. */
struct clf__request {
    const struct clf_line *lines;    /* (count) */
    const struct clf_line *prefixes; /* (count) or NULL */
    const struct clf__ids *begun;    /* (count) ids that replace prefixes, or NULL; owned by the caller */
    int count;
    clf__emit *emit;              /* may be NULL */
    void *user;                   /* first argument of `emit` */
    const struct clf__call *call; /* may be interrupted while the lines are read; NULL: not */
};

/* One search over lines. */
struct clf__work {
    struct clf_translator *translator;
    struct clf__settings *settings;
    struct clf__request request;
    struct clf__unit *units;         /* (request.count) */
    struct clf_translation *results; /* (request.count) */
    struct clf_stage_times times;    /* time spent reading lines */
    struct clf__job job;
};

/* Reads the lines of a request, with the settings of the translator or of its alternatives, and prepares the
 * job that translates them without splitting. The caller frees the work, even on failure. */
clf_status clf__work_begin(struct clf__work *work, struct clf_translator *translator,
                           struct clf__settings *settings, const struct clf__request *request);
/* Gives the results of a job that has run to the caller, and frees the rest. */
struct clf_translation *clf__work_take(struct clf__work *work);
void clf__work_free(struct clf__work *work);

/* Translates a request within a call. */
clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          struct clf__settings *settings, const struct clf__request *request);

/* A call of clf_translate() or clf_score(), or a submitted one: jobs that run one after another. */
struct clf__call {
    const struct clf__call_kind *kind;
    struct clf_translator *translator;
    const struct clf_translate_options *options; /* with the hooks */
    const struct clf_line *lines;                /* (count) */
    const struct clf_line *others;               /* (count) prefixes or NULL; targets to score */
    int count;
    int is_here;          /* 1: the calling thread waits for the results, so hooks may run on it */
    struct clf__job *job; /* to run next; NULL: the results are complete */
    struct clf__work work;
    void *state;                          /* state of the kind */
    struct clf_translation *translations; /* (count) */
    struct clf_score *scores;             /* (count) */
    atomic_int finished;                  /* number of lines, from the first on, that are finished */
};

/* Called before line `line` of a call is read; asks options->interrupted now and then, because reading many
 * lines takes seconds. */
clf_status clf__call_ask(const struct clf__call *call, int line);

/* Functions of a kind of call; translating reads `others` only in `begin`, scoring all lines. */
struct clf__call_kind {
    clf_status (*begin)(struct clf__call *call);   /* prepares the first job */
    clf_status (*advance)(struct clf__call *call); /* after a job: prepares the next one or the results */
    void (*free)(struct clf__call *call);          /* frees the state, and scores that were not taken */
};
extern const struct clf__call_kind clf__call_lines, clf__call_alternatives, clf__call_split, clf__call_scores;

/* Chooses how a translator translates a call's lines. */
const struct clf__call_kind *clf__call_kind_of(const struct clf_translator *translator);

/* A clf__emit whose `user` is a call: calls the option `translated`. */
clf_status clf__emit_lines(void *user, struct clf_translation *results, int from, int to);

/* Runs a call on the calling thread. */
clf_status clf__call_run(struct clf__call *call);
/* Frees what a call holds, including results that were not taken. */
void clf__call_free(struct clf__call *call);

/* Returns CLF_BAD_ARGUMENT for an invalid array of `count` lines. */
clf_status clf__translator_check_lines(const struct clf_line *lines, int count);

#endif
