/* The encoder cache of a lane: the cross-attention keys and values of recent sources. The least recently used
 * source is replaced first. Sources are compared by their ids; recordings are not cached. */
#ifndef CLF_ENGINE_CACHE_H
#define CLF_ENGINE_CACHE_H

#include "engine/source.h"

struct clf__session;

enum { CLF__CACHE_SEEN = 4096 };

/* A zeroed cache is empty. */
struct clf__cache {
    int64_t bytes;            /* most device memory; 0: off */
    int rows;                 /* most tokens */
    struct clf__store *store; /* created for the first source */
    struct clf__cache_entry {
        uint64_t hash;
        struct clf__ids ids;
        int first;     /* row in the store; it has ids.count rows */
        uint64_t used; /* cache->uses when it was last used */
    } * entries;       /* (count) ordered by their first row */
    int count, capacity;
    uint64_t uses;
    uint64_t seen[CLF__CACHE_SEEN]; /* hashes of recent sources, each at its remainder */
};

/* Reorders `units` and their `slots` so that sources in the cache come last; returns how many do not. */
int clf__cache_part(const struct clf__cache *cache, struct clf__unit **units, int *slots, int count);

/* Copies a source that is in the cache to a reserved slot. */
clf_status clf__cache_load(struct clf__cache *cache, struct clf__session *session, int slot,
                           const struct clf__source *source);

/* Adds the source in a slot. A source of a large batch is added when it occurs again: each costs a copy for
 * every layer. A device without memory for the cache turns it off. */
clf_status clf__cache_save(struct clf__cache *cache, struct clf__session *session, int slot,
                           const struct clf__source *source, int is_large_batch);

/* Removes all sources: after a failure of the device, their copies may not be complete. */
void clf__cache_forget(struct clf__cache *cache);

/* Frees the memory of a cache, which is then empty. */
void clf__cache_clear(struct clf__cache *cache);

#endif
