/* A tensor in a file, and the conversion of its values to floats. */
#ifndef CLF_WEIGHTS_STORED_TENSOR_H
#define CLF_WEIGHTS_STORED_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

#define CLF__TENSOR_DIMENSIONS 8

enum clf__storage {
    CLF__STORED_F64,
    CLF__STORED_F32,
    CLF__STORED_F16,
    CLF__STORED_BF16,
    CLF__STORED_I8, /* integers; usable as weights only with scales */
    CLF__STORED_I16,
    CLF__STORED_I32,
    CLF__STORED_OTHER
};

/* Scales of quantized weights: value = stored / scale, or stored * scale. */
struct clf__stored_scales {
    int count;       /* number of scales: one for all values, or one per row; 0: no scales */
    float value;     /* the scale, if it is not in the file; otherwise 0 */
    uint64_t offset; /* offset of the first scale (fp32) in the tensor's file */
    int multiplies;  /* 1: stored * scale; 0: stored / scale */
};

/* A tensor in open weights, whose values are read on request. */
struct clf__stored_tensor {
    const char *name;
    const char *file;      /* path, for messages */
    const char *type_name; /* type name as in safetensors: "F16" */
    enum clf__storage type;
    int dimensions;
    int64_t shape[CLF__TENSOR_DIMENSIONS];
    const struct clf__file *source;
    uint64_t offset; /* offset of the first byte in the file */
    size_t size;     /* bytes of all values */
    /* 1: element (i, j, ...) is i * strides[0] + j * strides[1] + ... elements after the first; 0: all
     * elements are adjacent. */
    int is_strided;
    int64_t strides[CLF__TENSOR_DIMENSIONS];
    struct clf__stored_scales scales;
};

/* Returns 1 if the values are real numbers: floats, or integers with scales. */
int clf__stored_tensor_is_real(const struct clf__stored_tensor *tensor);
/* Returns a range of existing rows as a tensor with the same name. */
struct clf__stored_tensor clf__stored_tensor_rows(const struct clf__stored_tensor *tensor, int64_t first,
                                                  int64_t count);

/* Name and size of an element type. */
struct clf__element_type {
    const char *name; /* the safetensors name: "F16" */
    uint64_t bytes;   /* bytes per element */
    enum clf__storage storage;
};
/* Finds an element type by its safetensors name; NULL: unknown. */
const struct clf__element_type *clf__element_type_find(const char *name);

/* Sets *out to 1 if two tensors have the same type and the same bytes. */
clf_status clf__stored_tensor_same(int *out, const struct clf__stored_tensor *a,
                                   const struct clf__stored_tensor *b);

/* Converts all values to fp32. Integers without scales are converted unscaled. Returns CLF_FORMAT for a
 * non-numeric type and CLF_FILE if the file has become shorter. */
clf_status clf__stored_tensor_read(const struct clf__stored_tensor *tensor, float *target);

/* Returns 1 if the tensor is int8 with scales and its rows are adjacent. */
int clf__stored_tensor_is_int8(const struct clf__stored_tensor *tensor);
/* Reads the integers of an int8 tensor and the factor of each row. */
clf_status clf__stored_tensor_read_int8(const struct clf__stored_tensor *tensor, int8_t *target,
                                        float *factors);

#endif
