/* Reads the tensors that a torch.save() pickle describes without executing code. */
#ifndef CLF_WEIGHTS_PICKLE_H
#define CLF_WEIGHTS_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/weights/stored_tensor.h"

/* Text in the pickle, not NUL-terminated. */
struct clf__pickled_text {
    const char *bytes;
    size_t size;
};

/* maximum size of a pickle in bytes; each byte needs at most about a hundred bytes of memory */
enum { CLF__PICKLE_MOST = 1 << 22 };

struct clf__pickled_tensor {
    struct clf__pickled_text name;
    struct clf__pickled_text storage; /* the key of the storage that holds the elements */
    const struct clf__element_type *type;
    int64_t storage_elements;
    int64_t offset; /* in elements */
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS], strides[CLF__TENSOR_DIMENSIONS]; /* in elements */
};

/* Called for each tensor of the state dict; a failure ends reading and is returned. */
typedef clf_status clf__pickled_function(void *user, const struct clf__pickled_tensor *tensor);

/* An integer in a dict next to the state dict: "n_mels" of "dims". */
struct clf__pickled_number {
    struct clf__pickled_text dict, name;
    int64_t value;
};
typedef clf_status clf__pickled_number_function(void *user, const struct clf__pickled_number *number);

struct clf__pickled_functions {
    clf__pickled_function *tensor;
    clf__pickled_number_function *number;
    void *user;
};

/* Reads protocol 2 with the opcodes and globals of a state dict of tensors; CLF_UNSUPPORTED names any other
 * opcode or global. In a training checkpoint the state dict is found under one of torch's usual keys. `path`
 * is used in messages. */
clf_status clf__pickle_read(const uint8_t *bytes, size_t size, const char *path,
                            const struct clf__pickled_functions *functions);

#endif
