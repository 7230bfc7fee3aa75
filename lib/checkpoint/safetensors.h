/* Reading safetensors: one file, or the shards that model.safetensors.index.json names. */
#ifndef CLF_CHECKPOINT_SAFETENSORS_H
#define CLF_CHECKPOINT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

#define CLF__TENSOR_DIMENSIONS 8

enum clf__storage { CLF__STORED_F64, CLF__STORED_F32, CLF__STORED_F16, CLF__STORED_BF16, CLF__STORED_OTHER };

/* A tensor of an opened checkpoint; its bytes are read when they are asked for. */
struct clf__stored_tensor {
    const char *name;
    const char *file;      /* path, for messages */
    const char *type_name; /* as the file says: "F16" */
    enum clf__storage type;
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS];
    const struct clf__file *source;
    uint64_t offset; /* of its bytes in the file */
    size_t size;
};

struct clf__checkpoint;

/* Opens <folder>/model.safetensors, or the shards of its index. Every header length, offset and shape is
 * checked against the files before anything is read. */
clf_status clf__checkpoint_open(struct clf__checkpoint **out, const char *folder);
/* The same with <folder>/<name> alone, whatever else is there; name NULL: as above. */
clf_status clf__checkpoint_open_file(struct clf__checkpoint **out, const char *folder, const char *name);
void clf__checkpoint_close(struct clf__checkpoint *checkpoint);

/* NULL when absent; borrowed. */
const struct clf__stored_tensor *clf__checkpoint_find(const struct clf__checkpoint *checkpoint,
                                                      const char *name);
int clf__checkpoint_count(const struct clf__checkpoint *checkpoint);
const struct clf__stored_tensor *clf__checkpoint_at(const struct clf__checkpoint *checkpoint, int index);
/* Where messages point: the path of the file or of the index. */
const char *clf__checkpoint_path(const struct clf__checkpoint *checkpoint);

/* Whether two have the same type and the same bytes. */
clf_status clf__stored_tensor_same(int *out, const struct clf__stored_tensor *a,
                                   const struct clf__stored_tensor *b);

/* Converts to fp32. target holds as many floats as the shape says. A type that is no float is CLF_FORMAT, a
 * file that became shorter CLF_FILE. */
clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target);

#endif
