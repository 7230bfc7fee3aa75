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
 * "system", "configuration", "generation", "tokenizer", "tensors" (objects with "name", "stored_name",
 * "file", "type", "shape", "bytes", "minimum", "maximum", "mean"), "parameters", "bytes", "unusual"
 * (sentences).
 * @param folder a model folder.
 * @return as clf_model_load().
 */
clf_status clf_inspect(char **json, const char *folder);

/** Frees a string that the library handed out; NULL is ignored. */
void clf_string_free(char *string);

#ifdef __cplusplus
}
#endif
#endif
