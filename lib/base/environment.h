/* The only place that reads the environment. */
#ifndef CLF_BASE_ENVIRONMENT_H
#define CLF_BASE_ENVIRONMENT_H

#include <stdint.h>

#include "base/status.h"

/* A variable; NULL where it is missing or empty, which says as little. $CLFORMER_DEVICE names the device, and
 * tuning/tuning.c the ones that are the device options' defaults, so that a test matrix can run any program
 * on every form. */
const char *clf__environment_value(const char *name);

/* Whether what `clformer tune` kept is taken: $CLFORMER_TUNING, "on" or "off"; missing: on. */
clf_status clf__environment_uses_tuning(int *out);

/* Features that $CLFORMER_WITHOUT turns off one by one, to find the one that a driver gets wrong: the name,
 * the bit and the word. */
#define CLF__FEATURE_LIST(X)                                                                                 \
    X(SUBGROUPS, 0, "subgroups")           /* sub-group shuffles */                                          \
    X(DOT, 1, "dot")                       /* dot product instructions, of int8 and bf16 */                  \
    X(MATRIX, 11, "matrix")                /* matrix instructions of GPUs */                                 \
    X(EXACT_DIVISION, 2, "exact-division") /* correctly rounded division and square roots */                 \
    X(ATOMICS, 3, "atomics")               /* atomics across the device */                                   \
    X(LONG_GROUPS, 4, "long-groups")       /* work-groups of more than 128 items */                          \
    X(ARGUMENTS, 5, "arguments")           /* skipping arguments that did not change */                      \
    X(FLUSH, 6, "flush")                   /* flushing before the host has to wait */                        \
    X(CHECK, 8, "check")                   /* the check of a GPU's kernels */                                \
    X(PACE, 9, "pace")                     /* waiting for a GPU about once a second of work */               \
    X(SPEED, 10, "speed")                  /* measuring which of two devices is the default */               \
    X(PERSISTENT, 12, "persistent")        /* decoder layers of a step in one launch of a GPU */             \
    X(CACHE, 7, "cache")                   /* compiled programs kept on disk */

#define CLF__FEATURE_BIT(name, bit, word) CLF__WITHOUT_##name = 1 << (bit),
enum { CLF__FEATURE_LIST(CLF__FEATURE_BIT) };
#undef CLF__FEATURE_BIT

/* The sum of the bits of the features that $CLFORMER_WITHOUT names, with commas between them. Any other word
 * is CLF_BAD_ARGUMENT, with the list of words. */
clf_status clf__environment_without(unsigned *out);

/* $XDG_CACHE_HOME/clformer or ~/.cache/clformer; CLF_FILE where neither is set. The caller frees *out. */
clf_status clf__environment_cache_folder(char **out);

/* Where files lie for a while: $TMPDIR, or /tmp. */
const char *clf__environment_temporary_folder(void);

/* Where Moses' lists of abbreviations are: $CLFORMER_ABBREVIATIONS, or NULL. */
const char *clf__environment_abbreviations_folder(void);

/* How many bytes of compiled programs are kept: $CLFORMER_CACHE_BYTES, 0 for none; missing: 256 MiB, some
 * hundred models and precisions. */
clf_status clf__environment_cache_bytes(uint64_t *out);

#endif
