#include "engine/cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "model/infer/store.h"

/* The source is not trusted, but equal hashes only cost a comparison. */
static uint64_t hash_of(const struct clf__source *source)
{
    return clf__fnv(CLF__FNV_BEGIN, source->ids.data, (size_t)source->ids.count * sizeof *source->ids.data);
}

/* Returns the entry of a source, or NULL. */
static struct clf__cache_entry *find(const struct clf__cache *cache, const struct clf__source *source)
{
    if (source->frames != NULL || cache->count == 0) {
        return NULL;
    }
    uint64_t hash = hash_of(source);
    for (int i = 0; i < cache->count; i++) {
        struct clf__cache_entry *entry = &cache->entries[i];
        if (entry->hash == hash && entry->ids.count == source->ids.count &&
            memcmp(entry->ids.data, source->ids.data, (size_t)source->ids.count * sizeof *source->ids.data) ==
                0) {
            return entry;
        }
    }
    return NULL;
}

/* Returns whether a source was noted and no other one since has replaced the note: most new sources are found
 * to be new without a search. */
static int is_seen(const struct clf__cache *cache, const struct clf__source *source)
{
    uint64_t hash = hash_of(source);
    return cache->seen[hash % CLF__CACHE_SEEN] == hash;
}

int clf__cache_part(const struct clf__cache *cache, struct clf__unit **units, int *slots, int count)
{
    int missing = 0;
    for (int i = 0; i < count; i++) {
        if (!is_seen(cache, &units[i]->source) || find(cache, &units[i]->source) == NULL) {
            struct clf__unit *unit = units[i];
            int slot = slots[i];
            units[i] = units[missing];
            slots[i] = slots[missing];
            units[missing] = unit;
            slots[missing++] = slot;
        }
    }
    return missing;
}

clf_status clf__cache_load(struct clf__cache *cache, struct clf__session *session, int slot,
                           const struct clf__source *source)
{
    struct clf__cache_entry *entry = find(cache, source);
    entry->used = ++cache->uses;
    return clf__store_load(cache->store, entry->first, session, slot);
}

static void remove_entry(struct clf__cache *cache, int at)
{
    clf__ids_free(&cache->entries[at].ids);
    cache->count--;
    memmove(&cache->entries[at], &cache->entries[at + 1],
            (size_t)(cache->count - at) * sizeof *cache->entries);
}

static int find_oldest(const struct clf__cache *cache)
{
    int oldest = 0;
    for (int i = 1; i < cache->count; i++) {
        oldest = cache->entries[i].used < cache->entries[oldest].used ? i : oldest;
    }
    return oldest;
}

/* Finds free rows: returns the index of the entry before which they are, and their first row. -1: too few
 * adjacent rows are free. */
static int find_rows(const struct clf__cache *cache, int rows, int *first)
{
    *first = 0;
    for (int i = 0; i < cache->count; i++) {
        if (cache->entries[i].first - *first >= rows) {
            return i;
        }
        *first = cache->entries[i].first + cache->entries[i].ids.count;
    }
    return clf__store_rows(cache->store) - *first >= rows ? cache->count : -1;
}

static clf_status add_entry(struct clf__cache *cache, const struct clf__source *source,
                            struct clf__cache_entry **out)
{
    struct clf__cache_entry entry = {.hash = hash_of(source), .used = ++cache->uses};
    size_t bytes = (size_t)source->ids.count * sizeof *source->ids.data;
    int at;
    while ((at = find_rows(cache, source->ids.count, &entry.first)) < 0) {
        remove_entry(cache, find_oldest(cache));
    }
    CLF__TRY(clf__grow(&cache->entries, cache->count, &cache->capacity, sizeof *cache->entries));
    CLF__TRY(clf__allocate(&entry.ids.data, (size_t)source->ids.count, sizeof *entry.ids.data));
    memcpy(entry.ids.data, source->ids.data, bytes);
    entry.ids.count = source->ids.count;
    memmove(&cache->entries[at + 1], &cache->entries[at],
            (size_t)(cache->count - at) * sizeof *cache->entries);
    cache->count++;
    cache->entries[at] = entry;
    *out = &cache->entries[at];
    return CLF_OK;
}

/* Creates the store, or turns the cache off. */
static clf_status prepare(struct clf__cache *cache, const struct clf__session *session)
{
    if (cache->store != NULL) {
        return CLF_OK;
    }
    clf_status status = clf__store_create(&cache->store, session, (uint64_t)cache->bytes, cache->rows);
    cache->bytes = cache->store != NULL ? cache->bytes : 0;
    return status == CLF_DEVICE_MEMORY ? CLF_OK : status;
}

clf_status clf__cache_save(struct clf__cache *cache, struct clf__session *session, int slot,
                           const struct clf__source *source, int is_large_batch)
{
    struct clf__cache_entry *entry;
    if (source->frames != NULL || cache->bytes <= 0) {
        return CLF_OK;
    }
    int is_new = !is_seen(cache, source);
    uint64_t hash = hash_of(source);
    cache->seen[hash % CLF__CACHE_SEEN] = hash;
    if (is_new && is_large_batch) {
        return CLF_OK;
    }
    CLF__TRY(prepare(cache, session));
    if (cache->store == NULL || source->ids.count > clf__store_rows(cache->store) ||
        !clf__store_takes(session, slot) || find(cache, source) != NULL) {
        return CLF_OK;
    }
    CLF__TRY(add_entry(cache, source, &entry));
    return clf__store_save(cache->store, entry->first, session, slot);
}

void clf__cache_forget(struct clf__cache *cache)
{
    while (cache->count > 0) {
        remove_entry(cache, cache->count - 1);
    }
}

void clf__cache_clear(struct clf__cache *cache)
{
    clf__cache_forget(cache);
    clf__free(cache->entries);
    clf__store_free(cache->store);
    *cache = (struct clf__cache){.bytes = cache->bytes, .rows = cache->rows};
}
