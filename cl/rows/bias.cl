/* sums[k] = the sum of the rows of chunk k of dy, in order: sums (chunks, C), dy (N, C). A chunk has chunk_rows rows;
 * the last chunk has the remaining rows. The grid of groups is (strips of columns, chunks); chunks.cl adds the sums.
 *
 * CPU variant: a strip has 1024 columns. GPU variant: a strip has QUADS columns, four per work-item. No macros. */

CPU_KERNEL void bias_backward_cpu(__global float *sums, int sums_offset, const __global float *dy, int dy_offset,
                                  int dy_stride, int rows, int columns, int chunk_rows)
{
    int chunk = (int)get_group_id(1);
    int count = min(chunk_rows, rows - chunk * chunk_rows);
    int end = min(((int)get_group_id(0) + 1) * 1024, columns);
    const __global float *block = dy + dy_offset + (size_t)chunk * chunk_rows * dy_stride;
    __global float *out = sums + sums_offset + (size_t)chunk * columns;
    int c = (int)get_group_id(0) * 1024;
    for (; c + 64 <= end; c += 64) {
        float16 s0 = (float16)(0.0f), s1 = s0, s2 = s0, s3 = s0;
        const __global float *in = block + c;
        for (int n = 0; n < count; n++, in += dy_stride) {
            s0 += vload16(0, in);
            s1 += vload16(1, in);
            s2 += vload16(2, in);
            s3 += vload16(3, in);
        }
        vstore16(s0, 0, out + c);
        vstore16(s1, 1, out + c);
        vstore16(s2, 2, out + c);
        vstore16(s3, 3, out + c);
    }
    for (; c < end; c += 16) {
        float16 sum = (float16)(0.0f);
        for (int n = 0; n < count; n++) {
            const __global float *in = block + (size_t)n * dy_stride + c;
            sum += end - c < 16 ? load_part(in, end - c, 0.0f) : vload16(0, in);
        }
        store_part(sum, out + c, min(end - c, 16));
    }
}

GPU_KERNEL void bias_backward_gpu(__global float *sums, int sums_offset, const __global float *dy, int dy_offset,
                                  int dy_stride, int rows, int columns, int chunk_rows)
{
    int chunk = (int)get_group_id(1);
    int count = min(chunk_rows, rows - chunk * chunk_rows);
    int c = ((int)get_group_id(0) * GROUP + (int)get_local_id(0)) * 4;
    if (c >= columns) {
        return;
    }
    const __global float *in = dy + dy_offset + (size_t)chunk * chunk_rows * dy_stride + c;
    float4 sum = 0.0f;
    for (int n = 0; n < count; n++, in += dy_stride) {
        sum += load_quad(in, columns - c, 0.0f);
    }
    store_quad(sum, sums + sums_offset + (size_t)chunk * columns + c, columns - c);
}
