#include "serve/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/status.h"
#include "engine/engine.h"

struct entry {
    struct clf_translator *translator; /* NULL: unused */
    struct pool_key key;
    int users;
    long long last_use;
};

struct translations_pool {
    struct clf_engine *engine;
    const struct clf_translate_options *options;
    pthread_mutex_t lock; /* guards the members below */
    struct entry *entries;
    int count;
    long long uses;
};

clf_status pool_create(struct translations_pool **out, struct clf_engine *engine,
                       const struct clf_translate_options *options, int callers)
{
    struct translations_pool *pool = *out = calloc(1, sizeof *pool);
    struct entry *entries = calloc((size_t)callers, sizeof *entries);
    if (pool == NULL || entries == NULL) {
        free(entries);
        free(pool);
        *out = NULL;
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d translators", callers);
    }
    *pool = (struct translations_pool){
        .engine = engine, .options = options, .entries = entries, .count = callers};
    pthread_mutex_init(&pool->lock, NULL);
    return CLF_OK;
}

void pool_free(struct translations_pool *pool)
{
    for (int i = 0; pool != NULL && i < pool->count; i++) {
        clf_translator_free(pool->entries[i].translator);
    }
    if (pool != NULL) {
        pthread_mutex_destroy(&pool->lock);
        free(pool->entries);
    }
    free(pool);
}

static int is_equal(const struct pool_key *one, const struct pool_key *other)
{
    return one->source == other->source && one->target == other->target &&
           one->alternatives == other->alternatives && one->priority == other->priority;
}

/* Returns the entry with these options, or else a free entry or the least recently used idle one. There
 * always is one, because each caller uses a single entry. */
static struct entry *find_entry(struct translations_pool *pool, const struct pool_key *key)
{
    struct entry *oldest = NULL;
    for (int i = 0; i < pool->count; i++) {
        struct entry *entry = &pool->entries[i];
        if (entry->translator != NULL && is_equal(&entry->key, key)) {
            return entry;
        }
        if (entry->users == 0 && (oldest == NULL || entry->last_use < oldest->last_use)) {
            oldest = entry;
        }
    }
    return oldest;
}

static clf_status create_translator(struct entry *entry, const struct translations_pool *pool)
{
    struct clf_translate_options options = *pool->options;
    options.source_language = entry->key.source->model_code;
    options.target_language = entry->key.target->model_code;
    options.priority = entry->key.priority;
    if (entry->key.alternatives > 0) {
        options.n_best = entry->key.alternatives + 1;
        options.beam = options.beam > options.n_best ? options.beam : options.n_best;
        options.split_sentences = 0;
    }
    return clf_translator_create_shared(&entry->translator, pool->engine, &options);
}

clf_status pool_acquire(struct clf_translator **out, struct translations_pool *pool,
                        const struct pool_key *key)
{
    clf_status status = CLF_OK;
    *out = NULL;
    pthread_mutex_lock(&pool->lock);
    struct entry *entry = find_entry(pool, key);
    if (entry == NULL) {
        status = clf__fail(CLF_OUT_OF_MEMORY, "more than %d translators are in use", pool->count);
    } else if (entry->translator == NULL || !is_equal(&entry->key, key)) {
        clf_translator_free(entry->translator);
        *entry = (struct entry){.key = *key};
        status = create_translator(entry, pool);
    }
    if (status == CLF_OK) {
        entry->users++;
        entry->last_use = ++pool->uses;
        *out = entry->translator;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void pool_release(struct translations_pool *pool, struct clf_translator *translator)
{
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < pool->count; i++) {
        pool->entries[i].users -= translator != NULL && pool->entries[i].translator == translator;
    }
    pthread_mutex_unlock(&pool->lock);
}

struct clf_stage_times pool_times(const struct translations_pool *pool)
{
    struct clf_stage_times times;
    clf__engine_copy_times(pool->engine, &times);
    return times;
}
