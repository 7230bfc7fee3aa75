/* What transformers 5 puts in place of a tokenizer.json's sections: most of its classes take the pieces
 * alone, and the table of a "Precompiled", and build everything else anew. */
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

/* Puts the class's sections in the place of the file's. */
clf_status clf__rebuilt_apply(json_t *root, const char *path, const struct clf__rebuilt_settings *settings);

#endif
