/* Formats of weights files. Each format opens one file and lists the tensors in the file. */
#ifndef CLF_WEIGHTS_FORMAT_H
#define CLF_WEIGHTS_FORMAT_H

#include <jansson.h>

#include "model/weights/weights.h"

/* One open file. */
struct clf__shard {
    char *name; /* relative to the model folder */
    char *path;
    struct clf__file file;
    json_t *header;              /* safetensors: owns the tensors' names; torch files: holds only metadata */
    char *names;                 /* torch files: the tensors' names, concatenated */
    struct clf__names name_list; /* the tensors' names in other formats */
    struct clf__specification specification;
    int first, count;
};

/* The tensors of all files; the tensors of a shard are adjacent until the list is sorted. */
struct clf__tensor_list {
    struct clf__stored_tensor *items;
    int count;
};

/* Each function opens shard->path and adds its tensors. After a failure the caller closes the shard. */
clf_status clf__safetensors_open(struct clf__shard *shard, struct clf__tensor_list *list);
clf_status clf__pytorch_open(struct clf__shard *shard, struct clf__tensor_list *list);
clf_status clf__ctranslate2_open(struct clf__shard *shard, struct clf__tensor_list *list);
clf_status clf__onnx_open(struct clf__shard *shard, struct clf__tensor_list *list);

#endif
