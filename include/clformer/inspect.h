/* What a model folder holds, without a device. */
#ifndef CLFORMER_INSPECT_H
#define CLFORMER_INSPECT_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads a model folder and describes it: configuration, generation defaults, tensors, tokenizer, what is
 * unusual.
 *
 * @param json   receives one JSON object as text, UTF-8; free it with clf_string_free(). Keys: "folder",
 * "system", "configuration", "generation", "tasks" (objects by name), "tokenizer", "tensors" (objects with
 * "name", "stored_name", "file", "type", "shape", "bytes", "minimum", "maximum", "mean"), "parameters",
 * "bytes", "unusual" (sentences), "cannot_run" (null).
 * @param folder a model folder, or a package of Argos Translate, as clf_model_load() takes it.
 * @return as clf_model_load(). With CLF_UNSUPPORTED, *json is not NULL: what the files of a model say that
 * cannot be run. "system" is null then, "model_type", "architectures" and "configuration" are those of its
 * config.json, its tensors have no minimum, maximum and mean, and "cannot_run" is the reason. With every
 * other failure *json is NULL.
 */
clf_status clf_inspect(char **json, const char *folder);

/** Frees a string that the library handed out; NULL is ignored. */
void clf_string_free(char *string);

#ifdef __cplusplus
}
#endif
#endif
