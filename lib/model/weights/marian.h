/* Weights files of Marian: its own container (.bin) and NumPy archives (.npz), each with the model's options
 * as YAML text. */
#ifndef CLF_WEIGHTS_MARIAN_H
#define CLF_WEIGHTS_MARIAN_H

#include <jansson.h>

#include "model/weights/format.h"

/* Opens shard->path and adds the tensors under Marian's names, without options and activation scales. Linear
 * weights, which have shape (inputs, outputs) in Marian, are returned as (outputs, inputs); embeddings remain
 * (words, width). Returns CLF_UNSUPPORTED for a tiled or encrypted type, CLF_FORMAT for a wrong length. */
clf_status clf__marian_open(struct clf__shard *shard, struct clf__tensor_list *list);

/* Reads the options (special:model.yml) as a JSON object (base/yaml.h), which the caller releases. Returns
 * CLF_UNSUPPORTED for a file without options. */
clf_status clf__marian_options(json_t **out, const char *path);

/* Sets *out to 1 if the matrices in the file are int8. */
clf_status clf__marian_is_int8(int *out, const char *path);

/* Sets *out to 1 if the file starts like a Marian container, to 0 if it does not or cannot be read.
 */
clf_status clf__marian_is_container(int *out, const char *path);

#endif
