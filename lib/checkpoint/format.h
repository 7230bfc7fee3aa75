/* The formats of files of weights: each opens one file and lists its tensors. */
#ifndef CLF_CHECKPOINT_FORMAT_H
#define CLF_CHECKPOINT_FORMAT_H

#include <jansson.h>

#include "checkpoint/checkpoint.h"

/* One file. */
struct clf__shard {
    char *name; /* inside the folder */
    char *path;
    struct clf__file file;
    json_t *header;              /* of safetensors: owns the tensors' names; of torch's: metadata alone */
    char *names;                 /* of torch's: the tensors' names, one after the other */
    struct clf__names name_list; /* of the others */
    struct clf__specification specification;
    int first, count;
};

/* The tensors of all files; those of a shard stand together until they are sorted. */
struct clf__tensor_list {
    struct clf__stored_tensor *items;
    int count;
};

/* Open shard->path and add its tensors. What they leave on failure the shard owns. */
clf_status clf__safetensors_open(struct clf__shard *shard, struct clf__tensor_list *list);
clf_status clf__pytorch_open(struct clf__shard *shard, struct clf__tensor_list *list);
clf_status clf__ctranslate2_open(struct clf__shard *shard, struct clf__tensor_list *list);

#endif
