/* A typed two-dimensional view on a device buffer, and the arena that owns the buffers. */
#ifndef CLF_TENSOR_TENSOR_H
#define CLF_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "device/buffer.h"
#include "device/pool.h"
#include "gemm/gemm.h"

/* CLF__QUANTIZED: rows of cl/gemm/quantize.cl in its GPU variant; offset and stride count 16 bits. */
enum clf__type { CLF__F32, CLF__I32, CLF__BF16, CLF__F16, CLF__QUANTIZED };

size_t clf__type_bytes(enum clf__type type);

/* Element (row, column) is at offset + row * stride + column, counted in elements. Views do not own. */
struct clf__tensor {
    struct clf__buffer *buffer;
    enum clf__type type;
    int rows;
    int columns;
    int stride;
    size_t offset;
};

/* The value for an optional tensor that is not used. */
#define CLF__NO_TENSOR ((struct clf__tensor){.buffer = NULL})

/* A view on rows first .. first + count - 1, or on columns likewise. */
struct clf__tensor clf__tensor_rows(struct clf__tensor tensor, int first, int count);
struct clf__tensor clf__tensor_columns(struct clf__tensor tensor, int first, int count);

/* A packed view (adjacent rows) on the front of a tensor, or on a buffer of floats. */
struct clf__tensor clf__tensor_packed(struct clf__tensor tensor, int rows, int columns);
struct clf__tensor clf__tensor_floats(struct clf__buffer *buffer, int rows, int columns);

/* The same memory as 16-bit numbers, CLF__BF16 or CLF__F16: adjacent rows from the same first element,
 * each with an even number of elements. CLF__F32 leaves the view unchanged. */
struct clf__tensor clf__tensor_as(struct clf__tensor tensor, enum clf__type type);

/* The same buffer as an operand of gemm. */
struct clf__matrix clf__tensor_matrix(struct clf__tensor tensor);

/* Blocking copies of a whole view from and to packed host memory (rows * columns elements). A view whose
 * rows are not adjacent (stride > columns) is copied row by row. */
clf_status clf__tensor_write(struct clf__tensor tensor, const void *source);
clf_status clf__tensor_read(struct clf__tensor tensor, void *target);

/* Device memory for several tensors: each is reserved, the total is checked against the device, then all
 * are allocated together. Each tensor has a buffer of exactly its size, so that bounds checkers see every
 * overrun. */
struct clf__arena {
    struct clf_device *device;
    struct clf__arena_entry *entries;
    int count;
    uint64_t bytes;   /* reserved so far */
    uint64_t largest; /* bytes of the largest tensor */
    /* Set for training, which reads large tensors sequentially: they are in large pages, and long rows are
     * an odd number of cache lines apart, so that neighbouring rows use different cache sets. */
    int is_swept;
    int is_joined; /* set while reserving tensors that share a few large buffers, for kernels with many
                    * tensors */
    struct clf__pool joined;
};

void clf__arena_init(struct clf__arena *arena, struct clf_device *device);

/* Reserves a tensor; *tensor becomes valid at clf__arena_allocate() and must not move until then. Zero
 * rows or columns are allocated as one. The sizes may be any product of ints: a tensor of more than
 * INT32_MAX elements, the largest index of kernels, is CLF_DEVICE_MEMORY. */
clf_status clf__arena_reserve(struct clf__arena *arena, struct clf__tensor *tensor, enum clf__type type,
                              int64_t rows, int64_t columns, const char *what);

/* Allocates all reserved tensors. CLF_DEVICE_MEMORY, with the needed and available bytes, if they exceed
 * the device's free memory or its largest buffer. */
clf_status clf__arena_allocate(struct clf__arena *arena);

/* Frees the buffers; the arena can be reserved again. */
void clf__arena_free(struct clf__arena *arena);

#endif
