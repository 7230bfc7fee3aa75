/* Tasks of a model ("task_specific_params" in config.json), each with a source prefix and decoding keys. */
#ifndef CLF_CONFIG_TASK_H
#define CLF_CONFIG_TASK_H

#include "base/file.h"
#include "model/config/types.h"

/* Lists the task names in alphabetical order. The list is empty if config.json does not exist or has no
 * tasks. */
clf_status clf__config_task_names(struct clf__names *out, const char *folder);

/* Reads the configuration of a Hugging Face folder for a task, and the source prefix ("" if none), which the
 * caller frees. For an unknown task, returns CLF_BAD_ARGUMENT with the list of tasks. On failure *out is
 * empty. */
clf_status clf__config_load_task(struct clf__config *out, char **prefix, const char *folder,
                                 const char *task);

#endif
