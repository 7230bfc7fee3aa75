/* Marian's files of weights: its own container (.bin) and NumPy archives (.npz), with the model's options as
 * YAML text inside. */
#ifndef CLF_CHECKPOINT_MARIAN_H
#define CLF_CHECKPOINT_MARIAN_H

#include <jansson.h>

#include "checkpoint/format.h"

/* Opens shard->path and adds its tensors under Marian's names, but the options and what only its own kernels
 * read (the scales of activations). Matrices of products, which Marian has as (inputs, outputs), come as
 * (outputs, inputs), as everywhere here; embeddings are (words, width) in both. A type that cannot be read
 * (tiled for one processor, encrypted) is CLF_UNSUPPORTED, a wrong length CLF_FORMAT. */
clf_status clf__marian_open(struct clf__shard *shard, struct clf__tensor_list *list);

/* The options of special:model.yml as an object of strings, lists and objects (base/yaml.h); the caller
 * releases *out. A file without them is CLF_UNSUPPORTED. */
clf_status clf__marian_options(json_t **out, const char *path);

/* Whether a file's matrices are in 8 bits. */
clf_status clf__marian_is_int8(int *out, const char *path);

/* Whether a file begins as a container of Marian's does; *out is 0 where it cannot be told. */
clf_status clf__marian_is_container(int *out, const char *path);

#endif
