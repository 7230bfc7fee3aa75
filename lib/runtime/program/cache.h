/* The cache of compiled programs on disk. */
#ifndef CLF_PROGRAM_CACHE_H
#define CLF_PROGRAM_CACHE_H

#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__kernel;
struct clf__program;

struct clf__program_cache {
    char *folder;        /* NULL: caching is off */
    uint64_t most_bytes; /* size limit of the folder */
    int has_warned, has_told, has_told_end;
};

/* Finds the folder; warns and disables caching if there is none or other users can write to it. Fails only
 * if memory is exhausted or $CLFORMER_CACHE_BYTES is invalid. */
clf_status clf__program_cache_open(struct clf_device *device);

/* Loads program->program from the cache. Leaves it NULL if the file is missing or unusable (one warning per
 * device). Fails only if memory is exhausted. */
clf_status clf__program_cache_load(struct clf_device *device, struct clf__program *program);

/* Like clf__program_cache_load(), but returns an error instead of a warning if the file is unusable. */
clf_status clf__program_cache_try(struct clf_device *device, struct clf__program *program);

/* Returns whether the kernel was in the cache file of its program. */
int clf__program_cache_has(const struct clf__kernel *kernel);

/* Creates the folder and logs that the first compilation starts. Logs nothing if caching is off or the
 * folder cannot be created. */
void clf__program_cache_tell(struct clf_device *device);

/* Warns, once per device, that the last failure prevents the use of the cache. */
void clf__program_cache_warn(struct clf_device *device);

/* Stores the programs that were compiled since the device was opened. A failure is only logged, as a
 * warning. */
void clf__program_cache_store_all(struct clf_device *device);

/* Removes the least recently used programs until at most `most_bytes` bytes remain, and temporary files of
 * killed processes. Other files are not removed. */
clf_status clf__program_cache_limit(const char *folder, uint64_t most_bytes);

#endif
