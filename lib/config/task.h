/* The tasks of a model: "task_specific_params" of config.json, each with a prefix of its sources and with
 * decoding keys of its own. */
#ifndef CLF_CONFIG_TASK_H
#define CLF_CONFIG_TASK_H

#include "base/file.h"
#include "config/config.h"

/* Their names, sorted; none where a folder's config.json has none, or there is no such file. */
clf_status clf__config_task_names(struct clf__names *out, const char *folder);

/* The configuration of a folder of Hugging Face's with a task's decoding keys over its own, and what a source
 * begins with, which the caller frees ("": nothing). A name that is none of its tasks is CLF_BAD_ARGUMENT
 * with those that are. On failure *out is empty. */
clf_status clf__config_load_task(struct clf__config *out, char **prefix, const char *folder,
                                 const char *task);

#endif
