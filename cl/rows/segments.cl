/* y[s] = the sum of the rows segments[s][0] .. segments[s][1] - 1 of x (N, D), in their order; rows outside x count
 * as zeros.
 *
 * A group computes whole segments. No macros. */

#define SUMS_ARGUMENTS                                                                                                 \
    __global float *y, int y_offset, int y_stride, const __global float *x, int x_offset, int x_stride,                \
        const __global int *segments, int segments_offset, int segments_stride, int rows, int columns, int x_rows

CPU_KERNEL void segment_sums_cpu(SUMS_ARGUMENTS)
{
    for (int s = (int)get_group_id(0); s < rows; s += (int)get_num_groups(0)) {
        const __global int *segment = segments + segments_offset + (size_t)s * segments_stride;
        int first = max(segment[0], 0), end = min(segment[1], x_rows);
        __global float *sums = y + y_offset + (size_t)s * y_stride;
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 sum = 0.0f;
            for (int n = first; n < end; n++) {
                sum += vload16(0, x + x_offset + (size_t)n * x_stride + k);
            }
            vstore16(sum, 0, sums + k);
        }
        for (; k < columns; k++) {
            float sum = 0.0f;
            for (int n = first; n < end; n++) {
                sum += x[x_offset + (size_t)n * x_stride + k];
            }
            sums[k] = sum;
        }
    }
}

GPU_KERNEL void segment_sums_gpu(SUMS_ARGUMENTS)
{
    for (int s = (int)get_group_id(0); s < rows; s += (int)get_num_groups(0)) {
        const __global int *segment = segments + segments_offset + (size_t)s * segments_stride;
        int first = max(segment[0], 0), end = min(segment[1], x_rows);
        __global float *sums = y + y_offset + (size_t)s * y_stride;
        for (int k = (int)get_local_id(0); k < columns; k += GROUP) {
            float sum = 0.0f;
            for (int n = first; n < end; n++) {
                sum += x[x_offset + (size_t)n * x_stride + k];
            }
            sums[k] = sum;
        }
    }
}
