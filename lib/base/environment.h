/* The only place that reads the environment. */
#ifndef CLF_BASE_ENVIRONMENT_H
#define CLF_BASE_ENVIRONMENT_H

#include <stdint.h>

#include "base/status.h"

/* $CLFORMER_DEVICE, or NULL. */
const char *clf__environment_device(void);

/* $CLFORMER_FORM (cpu, gpu), $CLFORMER_GEMM (native, clblast), $CLFORMER_ATTENTION (fused, batched),
 * $CLFORMER_INSTRUCTIONS (portable), or NULL: the device options' defaults, so that a test matrix can run any
 * program on every form. */
const char *clf__environment_form(void);
const char *clf__environment_gemm(void);
const char *clf__environment_attention(void);
const char *clf__environment_instructions(void);

/* Whether what `clformer tune` kept is taken: $CLFORMER_TUNING, "on" or "off"; missing: on. */
clf_status clf__environment_uses_tuning(int *out);

/* $XDG_CACHE_HOME/clformer or ~/.cache/clformer; CLF_FILE where neither is set. The caller frees *out. */
clf_status clf__environment_cache_folder(char **out);

/* How many bytes of compiled programs are kept: $CLFORMER_CACHE_BYTES, 0 for none; missing: 256 MiB, some
 * hundred models and precisions. */
clf_status clf__environment_cache_bytes(uint64_t *out);

#endif
