#include "math/tensor/tensor.h"

#include <assert.h>

size_t clf__type_bytes(enum clf__type type)
{
    return type == CLF__BF16 || type == CLF__F16 || type == CLF__QUANTIZED ? 2 : 4;
}

struct clf__tensor clf__tensor_rows(struct clf__tensor tensor, int first, int count)
{
    assert(first >= 0 && count >= 0 && first + count <= tensor.rows);
    tensor.offset += (size_t)first * (size_t)tensor.stride;
    tensor.rows = count;
    return tensor;
}

struct clf__tensor clf__tensor_columns(struct clf__tensor tensor, int first, int count)
{
    assert(first >= 0 && count >= 0 && first + count <= tensor.columns);
    tensor.offset += (size_t)first;
    tensor.columns = count;
    return tensor;
}

struct clf__tensor clf__tensor_packed(struct clf__tensor tensor, int rows, int columns)
{
    assert((size_t)rows * (size_t)columns <= (size_t)tensor.rows * (size_t)tensor.columns);
    tensor.rows = rows;
    tensor.columns = tensor.stride = columns;
    return tensor;
}

struct clf__tensor clf__tensor_floats(struct clf__buffer *buffer, int rows, int columns)
{
    return (struct clf__tensor){
        .buffer = buffer, .type = CLF__F32, .rows = rows, .columns = columns, .stride = columns};
}

struct clf__tensor clf__tensor_as(struct clf__tensor tensor, enum clf__type type)
{
    assert(tensor.type == CLF__F32 && type != CLF__I32);
    if (type == CLF__F32) {
        return tensor;
    }
    tensor.type = type;
    tensor.offset *= 2;
    tensor.stride = tensor.columns + tensor.columns % 2;
    return tensor;
}

struct clf__matrix clf__tensor_matrix(struct clf__tensor tensor)
{
    enum clf__precision precision = tensor.type == CLF__BF16        ? CLF__PRECISION_BF16
                                    : tensor.type == CLF__F16       ? CLF__PRECISION_FP16
                                    : tensor.type == CLF__QUANTIZED ? CLF__PRECISION_INT8
                                                                    : CLF__PRECISION_FP32;
    return (struct clf__matrix){
        .buffer = tensor.buffer, .offset = tensor.offset, .stride = tensor.stride, .precision = precision};
}

/* Copies from `source` to the view, or from the view to `target` if `source` is NULL; in one transfer if
 * the rows are contiguous. */
static clf_status copy(struct clf__tensor tensor, const char *source, char *target)
{
    size_t element_bytes = clf__type_bytes(tensor.type), row_bytes = (size_t)tensor.columns * element_bytes;
    int runs = tensor.stride == tensor.columns ? 1 : tensor.rows;
    size_t run_bytes = row_bytes * (size_t)(tensor.rows / (runs > 0 ? runs : 1));
    for (int i = 0; i < runs && run_bytes > 0; i++) {
        size_t offset = (tensor.offset + (size_t)i * (size_t)tensor.stride) * element_bytes;
        size_t packed = (size_t)i * row_bytes;
        CLF__TRY(source ? clf__buffer_write(tensor.buffer, offset, run_bytes, source + packed)
                        : clf__buffer_read(tensor.buffer, offset, run_bytes, target + packed));
    }
    return CLF_OK;
}

clf_status clf__tensor_write(struct clf__tensor tensor, const void *source)
{
    return copy(tensor, source, NULL);
}

clf_status clf__tensor_read(struct clf__tensor tensor, void *target)
{
    return copy(tensor, NULL, target);
}

clf_status clf__tensor_copy_rows(struct clf__tensor to, int to_row, struct clf__tensor from, int from_row,
                                 int rows)
{
    size_t size = clf__type_bytes(to.type);
    size_t stride = (size_t)to.stride * size;
    assert(to.type == from.type && to.stride == from.stride && to.columns == from.columns);
    return clf__buffer_copy(to.buffer, to.offset * size + (size_t)to_row * stride, from.buffer,
                            from.offset * size + (size_t)from_row * stride, (size_t)rows * stride);
}
