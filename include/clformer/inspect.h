/* Describes a model folder without a device. */
#ifndef CLFORMER_INSPECT_H
#define CLFORMER_INSPECT_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads a model folder and describes its configuration, generation defaults, tensors, tokenizer and
 * irregularities.
 *
 * @param json receives one JSON object as UTF-8 text; free it with clf_string_free(). Keys: "folder",
 *     "format", "architecture", "configuration", "generation", "tasks" (objects by name),
 * "tokenizer", "tensors" (objects with "name", "stored_name", "file", "type", "shape", "bytes", "minimum",
 * "maximum", "mean"), "parameters", "bytes", "unusual" (sentences), "cannot_run" (null if the model can run).
 * @param folder path of a model folder or model file, as for clf_model_load().
 * @return the errors of clf_model_load(). With CLF_UNSUPPORTED, *json is not NULL and describes a model that
 *         cannot run: "architecture" is null; "model_type", "architectures" and "configuration" are copied
 * from config.json; tensors have no minimum, maximum and mean; "cannot_run" is the reason. With every other
 * error *json is NULL.
 */
CLF_API clf_status clf_inspect(char **json, const char *folder);

/** Frees a string that the library returned; NULL is ignored. */
CLF_API void clf_string_free(char *string);

#ifdef __cplusplus
}
#endif
#endif
