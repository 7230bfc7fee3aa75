/* Builds a configuration from the options in a Marian model. */
#ifndef CLF_CONFIG_FAMILY_MARIAN_OPTIONS_H
#define CLF_CONFIG_FAMILY_MARIAN_OPTIONS_H

#include <jansson.h>

#include "model/config/types.h"

/* The special ids of Marian's vocabularies. */
struct clf__marian_ids {
    int source_end, target_end;
    int target_unknown; /* -1: none */
};

/* Builds a configuration. Both objects hold strings and lists of strings, as from model/weights/marian.h and
 * marian_folder.h; decoding NULL: no decoding options. `path` names the model in messages: an option with
 * unsupported arithmetic is CLF_UNSUPPORTED. On failure *out is empty. */
clf_status clf__config_from_marian(struct clf__config *out, const json_t *options, const json_t *decoding,
                                   const struct clf__marian_ids *ids, const char *path);

#endif
