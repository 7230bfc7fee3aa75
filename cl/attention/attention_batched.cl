/* Copies heads of a ragged batch to and from padded matrices, one per (sequence, head), for batched
 * attention.
 *
 * heads_gather: padded[(b * heads + h) * length + i] (width floats) = columns h * width .. of row first + i of x for
 * i < count, zeros beyond; { first, count } = ranges[b][part], ranges[b][part + 1]. heads_scatter: the inverse, into
 * y; rows i >= count are not written.
 *
 * CPU variant: a work-item copies a block of padded rows. GPU variant: a group copies whole rows. No
 * macros. */
#define HEADS_ARGUMENTS(x_type, padded_type)                                                                           \
    padded_type __global float *padded, x_type __global float *x, int x_offset, int x_stride,                          \
        const __global int *ranges, int ranges_offset, int part, int heads, int length, int width, int rows

/* Returns the offset in x of padded row n, or -1 for padding. */
static inline long find_row(int n, const __global int *ranges, int part, int heads, int length, int width, int stride)
{
    int i = n % length, head = n / length % heads;
    const __global int *range = ranges + n / length / heads * 4 + part;
    return i < range[1] ? (long)(range[0] + i) * stride + head * width : -1;
}

CPU_KERNEL void heads_gather_cpu(HEADS_ARGUMENTS(const, ))
{
    int block = (rows + (int)get_num_groups(0) - 1) / (int)get_num_groups(0);
    int first = (int)get_group_id(0) * block;
    for (int n = first; n < min(first + block, rows); n++) {
        long row = find_row(n, ranges + ranges_offset, part, heads, length, width, x_stride);
        const __global float *from = x + x_offset + max(row, 0L);
        __global float *to = padded + (size_t)n * width;
        for (int c = 0; c < width; c++) {
            to[c] = row < 0 ? 0.0f : from[c];
        }
    }
}

GPU_KERNEL void heads_gather_gpu(HEADS_ARGUMENTS(const, ))
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        long row = find_row(n, ranges + ranges_offset, part, heads, length, width, x_stride);
        for (int c = (int)get_local_id(0); c < width; c += GROUP) {
            padded[(size_t)n * width + c] = row < 0 ? 0.0f : x[x_offset + row + c];
        }
    }
}

CPU_KERNEL void heads_scatter_cpu(HEADS_ARGUMENTS(, const))
{
    int block = (rows + (int)get_num_groups(0) - 1) / (int)get_num_groups(0);
    int first = (int)get_group_id(0) * block;
    for (int n = first; n < min(first + block, rows); n++) {
        long row = find_row(n, ranges + ranges_offset, part, heads, length, width, x_stride);
        const __global float *from = padded + (size_t)n * width;
        for (int c = 0; row >= 0 && c < width; c++) {
            x[x_offset + row + c] = from[c];
        }
    }
}

GPU_KERNEL void heads_scatter_gpu(HEADS_ARGUMENTS(, const))
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        long row = find_row(n, ranges + ranges_offset, part, heads, length, width, x_stride);
        for (int c = (int)get_local_id(0); row >= 0 && c < width; c += GROUP) {
            x[x_offset + row + c] = padded[(size_t)n * width + c];
        }
    }
}
