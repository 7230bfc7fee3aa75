/* Functions shared by the files of clf_inspect(). */
#ifndef CLF_MODEL_INSPECT_INTERNAL_H
#define CLF_MODEL_INSPECT_INTERNAL_H

#include <jansson.h>

#include "model/config/types.h"
#include "model/weights/weights.h"

/* Returns a configuration as a JSON object that uses the keys of config.json where they exist; NULL if out of
 * memory. */
json_t *clf__inspect_configuration(const struct clf__config *config);

/* Returns the decoding defaults, as set by clf_translate_options_init(), as a JSON object; NULL if out of
 * memory. */
json_t *clf__inspect_generation(const struct clf__config *config);

/* Appends a formatted sentence to a JSON array. */
clf_status clf__inspect_say(json_t *sentences, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends sentences about unusual values of a configuration; `file` is the config.json that it was read from.
 */
clf_status clf__inspect_unusual(json_t *sentences, const struct clf__config *config, const json_t *file);

/* Fails with CLF_OUT_OF_MEMORY. */
clf_status clf__inspect_no_memory(void);

/* Returns a path as a JSON string, omitting bytes that are not valid UTF-8. */
json_t *clf__inspect_text(const char *string);

/* Appends an object with the location and type of a tensor. */
clf_status clf__inspect_tensor(json_t *tensors, const char *name, const struct clf__stored_tensor *stored);

/* Describes an unsupported model, with the reason. `path` is the path that the caller passed. */
clf_status clf__inspect_unsupported(json_t **out, const char *path, const char *folder, const char *reason);

#endif
