/* A typed two-dimensional view on a device buffer, and the arena that owns the buffers. */
#ifndef CLF_TENSOR_TENSOR_H
#define CLF_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "device/buffer.h"
#include "device/pool.h"
#include "gemm/gemm.h"

/* CLF__QUANTIZED: rows of cl/gemm/quantize.cl in its GPU form; offset and stride count 16 bits. */
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

/* What stands where an op takes no tensor. */
#define CLF__NO_TENSOR ((struct clf__tensor){.buffer = NULL})

/* A view on rows first .. first + count - 1, or on columns likewise. */
struct clf__tensor clf__tensor_rows(struct clf__tensor tensor, int first, int count);
struct clf__tensor clf__tensor_columns(struct clf__tensor tensor, int first, int count);

/* A view whose rows lie one after the other, on the front of a tensor, or on a buffer of floats. */
struct clf__tensor clf__tensor_packed(struct clf__tensor tensor, int rows, int columns);
struct clf__tensor clf__tensor_floats(struct clf__buffer *buffer, int rows, int columns);

/* The same memory as numbers of 16 bits, CLF__BF16 or CLF__F16: rows begin where the first one did and follow
 * each other closely, each with an even number of elements. CLF__F32 leaves the view as it is. */
struct clf__tensor clf__tensor_as(struct clf__tensor tensor, enum clf__type type);

/* The same buffer as gemm's operand. */
struct clf__matrix clf__tensor_matrix(struct clf__tensor tensor);

/* Blocking copies of a whole view from and to packed host memory (rows * columns elements). A view whose rows
 * do not touch (stride > columns) is copied row by row. */
clf_status clf__tensor_write(struct clf__tensor tensor, const void *source);
clf_status clf__tensor_read(struct clf__tensor tensor, void *target);

/* Device memory that is reserved piece by piece, checked against the device as a whole, then allocated at
 * once. Each tensor has a buffer of exactly its size, so that bounds checkers see every overrun. */
struct clf__arena {
    struct clf_device *device;
    struct clf__arena_entry *entries;
    int count;
    uint64_t bytes;   /* reserved so far */
    uint64_t largest; /* of one tensor among them */
    /* Set for work that goes over large tensors from end to end, as training does: they lie in large pages,
     * and rows of KiBs lie an odd number of cache lines apart, so that rows side by side fall on different
     * sets of a cache. */
    int is_swept;
    int is_joined; /* set while reserving tensors that share a few large buffers, for kernels that take many
                    */
    struct clf__pool joined;
};

void clf__arena_init(struct clf__arena *arena, struct clf_device *device);

/* Reserves a tensor; *tensor becomes valid at clf__arena_allocate() and must stay at its address until then.
 * rows or columns of zero are allocated as one. The sizes may be any product of ints: a tensor of more than
 * INT32_MAX elements, which kernels could not count, is CLF_DEVICE_MEMORY. */
clf_status clf__arena_reserve(struct clf__arena *arena, struct clf__tensor *tensor, enum clf__type type,
                              int64_t rows, int64_t columns, const char *what);

/* Allocates everything reserved. What exceeds the device's free memory or its largest buffer is
 * CLF_DEVICE_MEMORY, with the bytes needed and present. */
clf_status clf__arena_allocate(struct clf__arena *arena);

/* Frees the buffers; the arena can be reserved anew. */
void clf__arena_free(struct clf__arena *arena);

#endif
