/* The translators of a model, which share an engine. */
#ifndef CLF_TOOLS_SERVE_POOL_H
#define CLF_TOOLS_SERVE_POOL_H

#include <clformer/clformer.h>

#include "serve/languages.h"

struct translations_pool;

/* Creates a pool for at most `callers` threads at the same time. The engine and the options outlive it. */
clf_status pool_create(struct translations_pool **out, struct clf_engine *engine,
                       const struct clf_translate_options *options, int callers);
void pool_free(struct translations_pool *pool);

/* The options in which translators differ. */
struct pool_key {
    const struct language *source, *target;
    int alternatives; /* above 0: so many translations in addition to the best; sentences are not split */
    clf_priority priority;
};

/* Finds or creates a translator; pass it to pool_release() after the call. */
clf_status pool_acquire(struct clf_translator **out, struct translations_pool *pool,
                        const struct pool_key *key);
void pool_release(struct translations_pool *pool, struct clf_translator *translator);

/* Returns the times and counts of the engine. */
struct clf_stage_times pool_times(const struct translations_pool *pool);

#endif
