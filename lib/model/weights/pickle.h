/* Reads the tensors described in a torch.save() pickle, without executing code. */
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

/* maximum size of a pickle in bytes; limits memory, because each byte of a pickle needs up to about 100 bytes
 */
enum { CLF__PICKLE_MOST = 1 << 22 };

struct clf__pickled_tensor {
    struct clf__pickled_text name;
    struct clf__pickled_text storage; /* key of the storage that holds the elements */
    const struct clf__element_type *type;
    int64_t storage_elements;
    int64_t offset; /* in elements */
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS], strides[CLF__TENSOR_DIMENSIONS]; /* in elements */
};

/* Called for each tensor of the state dict. Reading stops at the first error, which is returned. */
typedef clf_status clf__pickled_function(void *user, const struct clf__pickled_tensor *tensor);

/* An integer in a dict stored next to the state dict, such as "n_mels" in "dims". */
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

/* Reads a pickle of protocol 2 with the opcodes and globals of a state dict of tensors; returns
 * CLF_UNSUPPORTED for others. In a training checkpoint, the state dict is found under one of torch's usual
 * keys. Errors name `path`. */
clf_status clf__pickle_read(const uint8_t *bytes, size_t size, const char *path,
                            const struct clf__pickled_functions *functions);

#endif
