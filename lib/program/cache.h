/* Compiled programs on disk, so that a start need not compile. */
#ifndef CLF_PROGRAM_CACHE_H
#define CLF_PROGRAM_CACHE_H

#include <stdint.h>

#include "base/status.h"

struct clf_device;
struct clf__program;

struct clf__program_cache {
    char *folder;        /* NULL: nothing is kept */
    uint64_t most_bytes; /* that it may hold */
    int has_warned, has_told, has_told_end;
};

/* Finds the folder; without one, or where somebody else may write to it, there is a warning and nothing is
 * kept. Fails for want of memory, and where the environment's limit is none. */
clf_status clf__program_cache_open(struct clf_device *device);

/* Gives program->program from the cache, or leaves it NULL when it has to be compiled: it is not there, or
 * what is there cannot be used (one warning a device). Fails for want of memory alone. */
clf_status clf__program_cache_load(struct clf_device *device, struct clf__program *program);

/* The same, but fails with what cannot be used, and warns of nothing. */
clf_status clf__program_cache_try(struct clf_device *device, struct clf__program *program);

/* Before something is compiled: says so, the first time, and makes the folder. Where that cannot be made, or
 * there is none, a warning has said it, or the caller wants it so. */
void clf__program_cache_tell(struct clf_device *device);

/* Says, once a device, that the last failure keeps compiled programs from being kept or taken. */
void clf__program_cache_warn(struct clf_device *device);

/* Keeps what was compiled since the device was opened. Nothing here fails: a warning says what went wrong. */
void clf__program_cache_store_all(struct clf_device *device);

/* Removes the least recently used programs until those that are left have at most so many bytes, and the
 * temporary files of processes that were killed. Other files in the folder are not touched. */
clf_status clf__program_cache_limit(const char *folder, uint64_t most_bytes);

#endif
