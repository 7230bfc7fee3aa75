/* The weights of a model folder: safetensors, or what torch.save() wrote, in one file or in the shards that
 * an index names; or the files of other engines. */
#ifndef CLF_CHECKPOINT_CHECKPOINT_H
#define CLF_CHECKPOINT_CHECKPOINT_H

#include <jansson.h>

#include "checkpoint/stored_tensor.h"

struct clf__checkpoint;

/* Opens <folder>/model.safetensors, or the shards of its index; without them pytorch_model.bin, or its
 * shards; without those model.bin. Every length, offset and shape is checked against the files before
 * anything is read. */
clf_status clf__checkpoint_open(struct clf__checkpoint **out, const char *folder);
/* The same with the file <folder>/<name> alone, whatever else is there: safetensors unless another format's
 * name is that; name NULL: as above. */
clf_status clf__checkpoint_open_file(struct clf__checkpoint **out, const char *folder, const char *name);
/* The same with a file of Marian's (checkpoint/marian.h), wherever it lies. */
clf_status clf__checkpoint_open_marian(struct clf__checkpoint **out, const char *path);
/* The same with a file of torch.save()'s. */
clf_status clf__checkpoint_open_pytorch(struct clf__checkpoint **out, const char *path);
void clf__checkpoint_close(struct clf__checkpoint *checkpoint);

/* NULL when absent; borrowed. */
const struct clf__stored_tensor *clf__checkpoint_find(const struct clf__checkpoint *checkpoint,
                                                      const char *name);
int clf__checkpoint_count(const struct clf__checkpoint *checkpoint);
const struct clf__stored_tensor *clf__checkpoint_at(const struct clf__checkpoint *checkpoint, int index);
/* Where messages point: the path of the file or of the index. */
const char *clf__checkpoint_path(const struct clf__checkpoint *checkpoint);

/* What the file of another engine says of itself; of others all is zero. */
struct clf__specification {
    const char *name; /* borrowed; NULL: it is of no other engine */
    int version, revision;
};
struct clf__specification clf__checkpoint_specification(const struct clf__checkpoint *checkpoint);
/* Strings by name that a file holds beside its tensors: the metadata of safetensors; of torch's the numbers
 * of a dict "dims", each under "dims." and its name. NULL where there is none. Borrowed. */
#define CLF__METADATA_KEY "__metadata__"
#define CLF__DIMS_KEY     "dims."
const json_t *clf__checkpoint_metadata(const struct clf__checkpoint *checkpoint);

/* What a file of weights says beside them. */
struct clf__beside {
    json_t *metadata;                /* strings by name, or NULL */
    struct clf__checkpoint *tensors; /* copied as they are, or NULL */
};
void clf__beside_free(struct clf__beside *beside);

/* Called with each tensor: adds what is to stand in its place, in any number, by clf__checkpoint_add(). */
typedef clf_status clf__tensor_mapper(struct clf__checkpoint *checkpoint,
                                      const struct clf__stored_tensor *tensor, void *user);
/* Gives its tensors other names, and makes several of one. */
clf_status clf__checkpoint_map(struct clf__checkpoint *checkpoint, clf__tensor_mapper *map, void *user);
/* Adds a tensor under a name that is copied. */
clf_status clf__checkpoint_add(struct clf__checkpoint *checkpoint, const struct clf__stored_tensor *tensor,
                               const char *name);

#endif
