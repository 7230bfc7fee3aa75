/* Reads and describes configurations. */
#ifndef CLF_CONFIG_CONFIG_H
#define CLF_CONFIG_CONFIG_H

#include "base/status.h"
#include "model/config/types.h"
#include "text/tokenizers/tokenizer.h"

/* Fails if the path is not a folder. For a file of a model folder, the message names that folder. */
clf_status clf__config_check_folder(const char *folder);

/* Reads config.json and generation_config.json of a folder; README.md lists the keys. Missing keys have the
 * preset's values. */
clf_status clf__config_load(struct clf__config *out, const char *folder);
void clf__config_free(struct clf__config *config);

/* Sets the values of a preset, including sizes (MARIAN: the defaults of transformers' MarianConfig). */
void clf__config_preset(struct clf__config *out, enum clf__architecture_id id);

/* Returns the number of ids that frame a source; an empty source has only these ids. */
int clf__config_framing(const struct clf__config *config);

/* Returns the tokenizer options of a configuration. */
struct clf__tokenizer_options clf__tokenizer_options_of(const struct clf__config *config);

#endif
