/* y[t][c * width + k] = x[t * step + k - width / 2][c], zeros where x has no such row: y (N, width * C), x (M, C). A row
 * of y is what a convolution over time looks at for one of its rows, in the order in which its weight is stored.
 *
 * CPU form: a group takes whole rows. GPU form: a group takes a row, work-item i its columns i, then GROUP further on. No
 * macros are needed. */

CPU_KERNEL void unfold_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                   int x_stride, int rows, int columns, int x_rows, int width, int step)
{
    int channels = columns / width;
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)t * y_stride;
        for (int k = 0; k < width; k++) {
            long row = (long)t * step + k - width / 2;
            int is_row = row >= 0 && row < x_rows;
            const __global float *in = x + x_offset + (size_t)(is_row ? row : 0) * x_stride;
            for (int c = 0; c < channels; c++) {
                out[c * width + k] = is_row ? in[c] : 0.0f;
            }
        }
    }
}

GPU_KERNEL void unfold_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                   int x_stride, int rows, int columns, int x_rows, int width, int step)
{
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)t * y_stride;
        for (int j = (int)get_local_id(0); j < columns; j += GROUP) {
            long row = (long)t * step + j % width - width / 2;
            int is_row = row >= 0 && row < x_rows;
            const __global float *in = x + x_offset + (size_t)(is_row ? row : 0) * x_stride;
            out[j] = is_row ? in[j / width] : 0.0f;
        }
    }
}
