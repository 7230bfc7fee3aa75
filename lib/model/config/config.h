/* Reads and describes configurations. */
#ifndef CLF_CONFIG_CONFIG_H
#define CLF_CONFIG_CONFIG_H

#include "base/status.h"
#include "model/config/types.h"
#include "text/tokenizers/tokenizer.h"

/* Fails unless the path is a folder; for a file, the message names its folder if that may be a model. */
clf_status clf__config_check_folder(const char *folder);

/* Reads config.json and generation_config.json of a folder; README.md lists the keys. A missing key has the
 * preset's value. */
clf_status clf__config_load(struct clf__config *out, const char *folder);
void clf__config_free(struct clf__config *config);

/* Returns the values of a preset, with sizes (for MARIAN: the defaults of transformers' MarianConfig). */
void clf__config_preset(struct clf__config *out, enum clf__system system);

/* Returns the number of ids around a source; a source with no other ids is empty. */
int clf__config_framing(const struct clf__config *config);

/* Returns the tokenizer options of a configuration. */
struct clf__tokenizer_options clf__tokenizer_options_of(const struct clf__config *config);

#endif
