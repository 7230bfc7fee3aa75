/* Builds a configuration from the options in a Marian model file. */
#ifndef CLF_CONFIG_ARCHITECTURES_MARIAN_OPTIONS_H
#define CLF_CONFIG_ARCHITECTURES_MARIAN_OPTIONS_H

#include <jansson.h>

#include "model/config/types.h"

/* Special ids in Marian's vocabularies. */
struct clf__marian_ids {
    int source_end, target_end;
    int target_unknown; /* -1: none */
};

/* `options` and `decoding` are objects of strings and lists of strings (model/weights/marian.h,
 * marian_folder.h); decoding NULL: no decoding options. Returns CLF_UNSUPPORTED for an option that requires
 * unsupported computations; messages name `path`. On failure *out is empty. */
clf_status clf__config_from_marian(struct clf__config *out, const json_t *options, const json_t *decoding,
                                   const struct clf__marian_ids *ids, const char *path);

#endif
