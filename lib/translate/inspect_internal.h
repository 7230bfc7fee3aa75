/* What the files of the inspection share. */
#ifndef CLF_TRANSLATE_INSPECT_INTERNAL_H
#define CLF_TRANSLATE_INSPECT_INTERNAL_H

#include <jansson.h>

#include "checkpoint/checkpoint.h"
#include "config/config.h"

/* A configuration as a JSON object, by the keys of config.json where it has them; NULL without memory. */
json_t *clf__inspect_configuration(const struct clf__config *config);

/* What generation starts from, as clf_translate_options_init() gives it; NULL without memory. */
json_t *clf__inspect_generation(const struct clf__config *config);

/* A formatted sentence after the others of a JSON array. */
clf_status clf__inspect_say(json_t *sentences, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is unusual in a configuration, as sentences; `file` is the config.json it was read from. */
clf_status clf__inspect_unusual(json_t *sentences, const struct clf__config *config, const json_t *file);

/* Fails for want of memory. */
clf_status clf__inspect_no_memory(void);

/* A JSON string; JSON is UTF-8, so that what is not (a path can be anything) loses its other bytes. */
json_t *clf__inspect_text(const char *string);

/* Appends an object of where a tensor is stored and how. */
clf_status clf__inspect_tensor(json_t *tensors, const char *name, const struct clf__stored_tensor *stored);

/* What can be said of a model that cannot be run, for that reason; the path is the one that was given. */
clf_status clf__inspect_unsupported(json_t **out, const char *path, const char *folder, const char *reason);

#endif
