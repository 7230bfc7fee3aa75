/* Weights of a model folder: safetensors or torch.save() files, single or in shards with an index, or files
 * of other engines. */
#ifndef CLF_WEIGHTS_CHECKPOINT_H
#define CLF_WEIGHTS_CHECKPOINT_H

#include <jansson.h>

#include "model/weights/stored_tensor.h"

struct clf__checkpoint;

/* Opens <folder>/model.safetensors or the shards of its index, else pytorch_model.bin or its shards, else
 * model.bin. Every length, offset and shape is checked against the files before values are read. */
clf_status clf__checkpoint_open(struct clf__checkpoint **out, const char *folder);
/* Opens only the file <folder>/<name>, as safetensors unless the name belongs to another format; name NULL:
 * as clf__checkpoint_open(). */
clf_status clf__checkpoint_open_file(struct clf__checkpoint **out, const char *folder, const char *name);
/* Opens a Marian file (model/weights/marian.h) at any path. */
clf_status clf__checkpoint_open_marian(struct clf__checkpoint **out, const char *path);
/* Opens a torch.save() file at any path. */
clf_status clf__checkpoint_open_pytorch(struct clf__checkpoint **out, const char *path);
void clf__checkpoint_close(struct clf__checkpoint *checkpoint);

/* Returns a tensor owned by the checkpoint; NULL if there is none. */
const struct clf__stored_tensor *clf__checkpoint_find(const struct clf__checkpoint *checkpoint,
                                                      const char *name);
int clf__checkpoint_count(const struct clf__checkpoint *checkpoint);
const struct clf__stored_tensor *clf__checkpoint_at(const struct clf__checkpoint *checkpoint, int index);
/* Returns the path of the file or index, for messages. */
const char *clf__checkpoint_path(const struct clf__checkpoint *checkpoint);

/* The specification in a file of another engine; all zero for other files. */
struct clf__specification {
    const char *name; /* owned by the checkpoint; NULL: not a file of another engine */
    int version, revision;
};
struct clf__specification clf__checkpoint_specification(const struct clf__checkpoint *checkpoint);
/* Returns the strings that a file holds in addition to tensors, by name: the metadata of safetensors; for
 * torch files the numbers of a dict "dims" under the names "dims.NAME". Owned by the checkpoint; NULL if
 * there are none. */
#define CLF__METADATA_KEY "__metadata__"
#define CLF__DIMS_KEY     "dims."
const json_t *clf__checkpoint_metadata(const struct clf__checkpoint *checkpoint);

/* Contents of a weights file in addition to the model's weights. */
struct clf__beside {
    json_t *metadata;                /* strings by name, or NULL */
    struct clf__checkpoint *tensors; /* tensors copied unchanged, or NULL */
};
void clf__beside_free(struct clf__beside *beside);

/* Called for each tensor: adds the tensors that replace it with clf__checkpoint_add(). */
typedef clf_status clf__tensor_mapper(struct clf__checkpoint *checkpoint,
                                      const struct clf__stored_tensor *tensor, void *user);
/* Renames the tensors and splits fused tensors, by calling `map` for each. */
clf_status clf__checkpoint_map(struct clf__checkpoint *checkpoint, clf__tensor_mapper *map, void *user);
/* Adds a tensor under a name, which is copied. */
clf_status clf__checkpoint_add(struct clf__checkpoint *checkpoint, const struct clf__stored_tensor *tensor,
                               const char *name);

#endif
