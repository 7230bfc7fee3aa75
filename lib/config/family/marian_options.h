/* A configuration from the options that a Marian model holds. */
#ifndef CLF_CONFIG_FAMILY_MARIAN_OPTIONS_H
#define CLF_CONFIG_FAMILY_MARIAN_OPTIONS_H

#include <jansson.h>

#include "config/config.h"

/* The ids that Marian's vocabularies say. */
struct clf__marian_ids {
    int source_end, target_end;
    int target_unknown; /* or -1 */
};

/* Both objects hold strings and lists of them, as checkpoint/marian.h and marian_folder.h give them; decoding
 * NULL: the folder says nothing of it. `path` is the model's, for messages: an option whose arithmetic is not
 * here is CLF_UNSUPPORTED with its name. On failure *out is empty. */
clf_status clf__config_from_marian(struct clf__config *out, const json_t *options, const json_t *decoding,
                                   const struct clf__marian_ids *ids, const char *path);

#endif
