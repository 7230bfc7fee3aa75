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
