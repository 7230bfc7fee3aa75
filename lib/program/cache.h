/* Compiled programs on disk, so that a start need not compile. */
#ifndef CLF_PROGRAM_CACHE_H
#define CLF_PROGRAM_CACHE_H

#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__program;

struct clf__program_cache {
    char *folder;        /* NULL: caching is off */
    uint64_t most_bytes; /* that it may hold */
    int has_warned, has_told, has_told_end;
};

/* Finds the folder; warns and turns caching off if there is none, or if other users can write to it. Fails
 * only for lack of memory, and if the limit in the environment is invalid. */
clf_status clf__program_cache_open(struct clf_device *device);

/* Sets program->program from the cache, or leaves it NULL if the program must be compiled: it is missing
 * or unusable (one warning per device). Fails only for lack of memory. */
clf_status clf__program_cache_load(struct clf_device *device, struct clf__program *program);

/* The same, but fails if the file is unusable, without a warning. */
clf_status clf__program_cache_try(struct clf_device *device, struct clf__program *program);

/* Announces the first compilation and creates the folder. Nothing is announced if caching is off or the
 * folder cannot be created. */
void clf__program_cache_tell(struct clf_device *device);

/* Warns, once per device, that the last failure prevents the use of the cache. */
void clf__program_cache_warn(struct clf_device *device);

/* Stores the programs that were compiled since the device was opened. A failure is only logged, as a
 * warning. */
void clf__program_cache_store_all(struct clf_device *device);

/* Removes the least recently used programs until the rest has at most `most_bytes` bytes, and temporary
 * files of killed processes. Other files in the folder are not touched. */
clf_status clf__program_cache_limit(const char *folder, uint64_t most_bytes);

#endif
