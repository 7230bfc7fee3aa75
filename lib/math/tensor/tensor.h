/* Typed two-dimensional views of device buffers, and the arena that owns the buffers. */
#ifndef CLF_TENSOR_TENSOR_H
#define CLF_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "math/gemm/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/device/pool.h"

/* CLF__QUANTIZED: rows of cl/gemm/quantize.cl in its GPU variant; offset and stride count 16 bits. */
enum clf__type { CLF__F32, CLF__I32, CLF__BF16, CLF__F16, CLF__QUANTIZED };

size_t clf__type_bytes(enum clf__type type);

/* Element (row, column) is at offset + row * stride + column, in elements. A view does not own its
 * buffer. */
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

/* Return a view of rows, or of columns, first .. first + count - 1. */
struct clf__tensor clf__tensor_rows(struct clf__tensor tensor, int first, int count);
struct clf__tensor clf__tensor_columns(struct clf__tensor tensor, int first, int count);

/* Return a packed view (contiguous rows) of the start of a tensor, or of a buffer of floats. */
struct clf__tensor clf__tensor_packed(struct clf__tensor tensor, int rows, int columns);
struct clf__tensor clf__tensor_floats(struct clf__buffer *buffer, int rows, int columns);

/* Reinterprets the memory as packed 16-bit elements, CLF__BF16 or CLF__F16, starting at the same element;
 * rows have an even number of elements. CLF__F32 returns the view unchanged. */
struct clf__tensor clf__tensor_as(struct clf__tensor tensor, enum clf__type type);

/* Returns the view as an operand of a GEMM. */
struct clf__matrix clf__tensor_matrix(struct clf__tensor tensor);

/* Blocking copies between a view and packed host memory (rows * columns elements). Views with stride >
 * columns are copied row by row. */
clf_status clf__tensor_write(struct clf__tensor tensor, const void *source);
clf_status clf__tensor_read(struct clf__tensor tensor, void *target);

/* Enqueues the copy of adjacent rows between tensors of the same layout on one device. */
clf_status clf__tensor_copy_rows(struct clf__tensor to, int to_row, struct clf__tensor from, int from_row,
                                 int rows);

/* Device memory for several tensors: each is reserved, the total is checked against the device, then all
 * are allocated together. Each tensor has a buffer of exactly its size, so bounds checkers detect every
 * overrun. */
struct clf__arena {
    struct clf_device *device;
    struct clf__arena_entry *entries;
    int count;
    uint64_t bytes;   /* bytes of the tensors reserved so far */
    uint64_t largest; /* bytes of the largest tensor */
    /* Set for training, which reads large tensors sequentially: uses large pages, and strides of an odd
     * number of cache lines, to place neighbouring rows in different cache sets. */
    int is_swept;
    int is_joined; /* set while reserving tensors that share large buffers, for kernels with many tensors */
    struct clf__pool joined;
};

void clf__arena_init(struct clf__arena *arena, struct clf_device *device);

/* Reserves a tensor; *tensor becomes valid at clf__arena_allocate() and must not move until then. Zero
 * rows or columns are allocated as one. Returns CLF_DEVICE_MEMORY for more than INT32_MAX elements, the
 * largest index that kernels support. */
clf_status clf__arena_reserve(struct clf__arena *arena, struct clf__tensor *tensor, enum clf__type type,
                              int64_t rows, int64_t columns, const char *what);

/* Allocates all reserved tensors. Returns CLF_DEVICE_MEMORY, with the required and available bytes, if they
 * exceed the free memory or the largest buffer of the device. */
clf_status clf__arena_allocate(struct clf__arena *arena);

/* Frees the buffers; the arena can be reserved again. */
void clf__arena_free(struct clf__arena *arena);

#endif
