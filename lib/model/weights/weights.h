/* Weights of a model folder: safetensors or torch.save() files, single or in shards with an index, or files
 * of other engines. */
#ifndef CLF_WEIGHTS_WEIGHTS_H
#define CLF_WEIGHTS_WEIGHTS_H

#include <jansson.h>

#include "model/weights/stored_tensor.h"

struct clf__weights;

/* Opens <folder>/model.safetensors or the shards of its index, else pytorch_model.bin or its shards, else
 * model.bin. Checks all lengths, offsets and shapes; values are read later. */
clf_status clf__weights_open(struct clf__weights **out, const char *folder);
/* Opens only the file <folder>/<name>: as safetensors, unless the name belongs to another format. If name is
 * NULL, calls clf__weights_open(). */
clf_status clf__weights_open_file(struct clf__weights **out, const char *folder, const char *name);
/* Opens a Marian file (model/weights/marian.h) at any path. */
clf_status clf__weights_open_marian(struct clf__weights **out, const char *path);
/* Opens a network at any path: as safetensors if the name ends with .safetensors, otherwise as ONNX. */
clf_status clf__weights_open_network(struct clf__weights **out, const char *path);
/* Opens a torch.save() file at any path. */
clf_status clf__weights_open_pytorch(struct clf__weights **out, const char *path);
void clf__weights_close(struct clf__weights *weights);

/* Returns a tensor owned by the weights; NULL if there is none. */
const struct clf__stored_tensor *clf__weights_find(const struct clf__weights *weights, const char *name);
int clf__weights_count(const struct clf__weights *weights);
const struct clf__stored_tensor *clf__weights_at(const struct clf__weights *weights, int index);
/* Returns the path of the file or index, for messages. */
const char *clf__weights_path(const struct clf__weights *weights);

/* The model specification in a file of another engine; all zero for other files. */
struct clf__specification {
    const char *name; /* owned by the weights; NULL: no specification */
    int version, revision;
};
struct clf__specification clf__weights_specification(const struct clf__weights *weights);
/* Returns the strings stored in addition to tensors, by name: the metadata of safetensors, or the numbers in
 * "dims" of a torch file as "dims.NAME". Owned by the weights; NULL if there are none. */
#define CLF__METADATA_KEY "__metadata__"
#define CLF__DIMS_KEY     "dims."
const json_t *clf__weights_metadata(const struct clf__weights *weights);

/* Contents of a weights file besides the model's weights. */
struct clf__beside {
    json_t *metadata;             /* strings by name, or NULL */
    struct clf__weights *tensors; /* copied unchanged, or NULL */
};
void clf__beside_free(struct clf__beside *beside);

/* Called for each tensor; calls clf__weights_add() for each tensor that replaces it. */
typedef clf_status clf__tensor_mapper(struct clf__weights *weights, const struct clf__stored_tensor *tensor,
                                      void *user);
/* Renames tensors and splits fused tensors: calls `map` for each tensor. */
clf_status clf__weights_map(struct clf__weights *weights, clf__tensor_mapper *map, void *user);
/* Adds a tensor under `name`, which is copied. */
clf_status clf__weights_add(struct clf__weights *weights, const struct clf__stored_tensor *tensor,
                            const char *name);

#endif
