/* The only place that reads the environment. */
#ifndef CLF_BASE_ENVIRONMENT_H
#define CLF_BASE_ENVIRONMENT_H

#include <stdint.h>

#include "base/status.h"

/* Returns the value of a variable; NULL if it is unset or empty. $CLFORMER_DEVICE selects the device.
 * $CLFORMER_PROBE names the clformer command, which tries matrix instructions in a child process.
 * runtime/tuning/tuning.c lists the variables that override defaults of device options; they let tests run
 * any program with every kernel variant. */
const char *clf__environment_value(const char *name);

/* Returns all variables, for a child process. */
char *const *clf__environment_all(void);

/* Sets *out to whether the results of `clformer tune` are used: $CLFORMER_TUNING, "on" (the default) or
 * "off". */
clf_status clf__environment_uses_tuning(int *out);

/* The features that $CLFORMER_WITHOUT can disable, to find out which of them fails on a driver: name, bit,
 * word. */
#define CLF__FEATURE_LIST(X)                                                                                 \
    X(SUBGROUPS, 0, "subgroups")           /* sub-group shuffles */                                          \
    X(DOT, 1, "dot")                       /* int8 and bf16 dot product instructions */                      \
    X(MATRIX, 11, "matrix")                /* matrix instructions of GPUs */                                 \
    X(EXACT_DIVISION, 2, "exact-division") /* correctly rounded division and square roots */                 \
    X(ATOMICS, 3, "atomics")               /* device-scope atomics */                                        \
    X(LONG_GROUPS, 4, "long-groups")       /* work-groups of more than 128 items */                          \
    X(ARGUMENTS, 5, "arguments")           /* skipping unchanged kernel arguments */                         \
    X(FLUSH, 6, "flush")                   /* flushing the queue before the host waits */                    \
    X(CHECK, 8, "check")                   /* verifying the kernels of a GPU */                              \
    X(PACE, 9, "pace")                     /* waiting for a GPU after each second of work */                 \
    X(SPEED, 10, "speed")                  /* measuring which of two devices is faster */                    \
    X(PERSISTENT, 12, "persistent")        /* running the decoder layers of a step in one launch on a GPU */ \
    X(PIPELINE, 13, "pipeline")            /* enqueueing a step before the previous one has ended */         \
    X(PAIRS, 14, "pairs")                  /* running two linear layers of a step in one launch on a GPU */  \
    X(BARRIER, 15, "barrier")              /* waiting work-groups on a GPU without device-scope atomics */   \
    X(CACHE, 7, "cache")                   /* caching compiled programs on disk */

#define CLF__FEATURE_BIT(name, bit, word) CLF__WITHOUT_##name = 1 << (bit),
enum { CLF__FEATURE_LIST(CLF__FEATURE_BIT) };
#undef CLF__FEATURE_BIT

/* Sets *out to the bits of the features in the comma-separated list $CLFORMER_WITHOUT. An unknown word is
 * CLF_BAD_ARGUMENT; the message lists the valid words. */
clf_status clf__environment_without(unsigned *out);

/* Sets *out to $XDG_CACHE_HOME/clformer or ~/.cache/clformer; the caller frees *out. Returns CLF_FILE if
 * neither XDG_CACHE_HOME nor HOME is set. */
clf_status clf__environment_cache_folder(char **out);

/* Returns the folder for temporary files: $TMPDIR, or /tmp. */
const char *clf__environment_temporary_folder(void);

/* Returns the folder of Moses' abbreviation lists: $CLFORMER_ABBREVIATIONS, or NULL. */
const char *clf__environment_abbreviations_folder(void);

/* Sets *out to the size limit of the program cache in bytes: $CLFORMER_CACHE_BYTES (0 disables the cache),
 * by default 256 MiB, enough for a few hundred combinations of model and precision. */
clf_status clf__environment_cache_bytes(uint64_t *out);

#endif
