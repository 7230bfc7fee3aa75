/* Replaces sections of tokenizer.json as transformers 5 does: most classes only use the file's tokens and the
 * table of its "Precompiled", and build the rest themselves. */
#ifndef CLF_TEXT_JSON_REBUILT_H
#define CLF_TEXT_JSON_REBUILT_H

#include <jansson.h>

#include "base/status.h"

struct clf__tokenizer_class;

struct clf__rebuilt_settings {
    const struct clf__tokenizer_class *class; /* with a pipeline */
    const char *unknown_token;
    int adds_prefix_space;
};

/* Replaces the sections of the file by those of the class. */
clf_status clf__rebuilt_apply(json_t *root, const char *path, const struct clf__rebuilt_settings *settings);

#endif
