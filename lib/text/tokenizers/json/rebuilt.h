/* Replaces sections of tokenizer.json as transformers 5 does: most classes use only the tokens and the
 * Precompiled table of the file, and build the other sections in code. */
#ifndef CLF_TEXT_JSON_REBUILT_H
#define CLF_TEXT_JSON_REBUILT_H

#include <jansson.h>

#include "base/status.h"

struct clf__tokenizer_class;

struct clf__rebuilt_settings {
    const struct clf__tokenizer_class *class; /* class with a pipeline */
    const char *unknown_token;
    int adds_prefix_space;
};

/* Replaces sections of the file with those of the class. */
clf_status clf__rebuilt_apply(json_t *root, const char *path, const struct clf__rebuilt_settings *settings);

#endif
