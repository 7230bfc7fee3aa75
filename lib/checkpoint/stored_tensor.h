/* A tensor of a file, and its values as floats. */
#ifndef CLF_CHECKPOINT_STORED_TENSOR_H
#define CLF_CHECKPOINT_STORED_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

#define CLF__TENSOR_DIMENSIONS 8

enum clf__storage {
    CLF__STORED_F64,
    CLF__STORED_F32,
    CLF__STORED_F16,
    CLF__STORED_BF16,
    CLF__STORED_I8, /* whole numbers: a weight only with scales */
    CLF__STORED_I16,
    CLF__STORED_I32,
    CLF__STORED_OTHER
};

/* Of quantized weights: a value is stored / scale, or stored * scale. */
struct clf__stored_scales {
    int count;       /* one for all values, or one a row; 0: there are none */
    float value;     /* the scale, where it is one and the file does not hold it; else 0 */
    uint64_t offset; /* of the first one, fp32, in the tensor's own file */
    int multiplies;  /* the scale does, else it divides */
};

/* A tensor of an opened checkpoint; its bytes are read when they are asked for. */
struct clf__stored_tensor {
    const char *name;
    const char *file;      /* path, for messages */
    const char *type_name; /* as the file says: "F16" */
    enum clf__storage type;
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS];
    const struct clf__file *source;
    uint64_t offset; /* of its first byte in the file */
    size_t size;     /* of all its values */
    /* Its rows do not lie one after the other: element (i, j, ...) is i * strides[0] + j * strides[1] + ...
     * elements behind the first. */
    int is_strided;
    int64_t strides[CLF__TENSOR_DIMENSIONS];
    struct clf__stored_scales scales;
};

/* Whether its values are real numbers: floats, or whole numbers with scales. */
int clf__stored_tensor_is_real(const struct clf__stored_tensor *tensor);
/* Some of its rows, which it has; the name stays. */
struct clf__stored_tensor clf__stored_tensor_rows(const struct clf__stored_tensor *tensor, int64_t first,
                                                  int64_t count);

/* What files call their types. */
struct clf__element_type {
    const char *name; /* as safetensors: "F16" */
    uint64_t bytes;   /* of an element */
    enum clf__storage storage;
};
/* NULL where there is none of that name. */
const struct clf__element_type *clf__element_type_find(const char *name);

/* Whether two have the same type and the same bytes. */
clf_status clf__stored_tensor_same(int *out, const struct clf__stored_tensor *a,
                                   const struct clf__stored_tensor *b);

/* Converts to fp32. target holds as many floats as the shape says. Whole numbers without scales stay what
 * they are. A type that is no number is CLF_FORMAT, a file that became shorter CLF_FILE. */
clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target);

/* Whether it holds int8 with scales, row after row. */
int clf__stored_tensor_is_int8(const struct clf__stored_tensor *tensor);
/* Such a one as it is, and for each row what its numbers are to be multiplied by. */
clf_status clf__stored_tensor_read_int8(const struct clf__stored_tensor *tensor, int8_t *target,
                                        float *factors);

#endif
