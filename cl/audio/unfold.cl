/* y[t][c * width + k] = x[t * step + k - width / 2][c], zero if x has no such row: y (N, width * C), x (M, C). A row
 * of y is the input window of one output row of a convolution over time, in the order of its weight. The gradient:
 * dx[m][c] = the sum of dy[t][c * width + k] with t * step + k - width / 2 = m, in the order of k.
 *
 * CPU variants: a group computes whole rows. GPU variants: a group computes a row; work-item i computes columns i,
 * i + GROUP ... No macros. */

CPU_KERNEL void unfold_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                   int x_stride, int rows, int columns, int x_rows, int width, int step)
{
    int channels = columns / width;
    for (int t = (int)get_group_id(0); t < rows; t += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)t * y_stride;
        long first = (long)t * step - width / 2;
        if (width == 3 && first >= 0 && first + 2 < x_rows) { /* fast path for Whisper's width, if all rows are inside */
            const __global float *in = x + x_offset + (size_t)first * x_stride;
            for (int c = 0; c < channels; c++) {
                out[3 * c] = in[c];
                out[3 * c + 1] = in[x_stride + c];
                out[3 * c + 2] = in[2 * (size_t)x_stride + c];
            }
            continue;
        }
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

/* Returns the row of y whose window contains row m as element k; -1: none. */
static inline int row_that_sees(int m, int k, int width, int step, int rows)
{
    int place = m + width / 2 - k;
    return place >= 0 && place % step == 0 && place / step < rows ? place / step : -1;
}

CPU_KERNEL void unfold_backward_cpu(__global float *dx, int dx_offset, int dx_stride, const __global float *dy,
                                    int dy_offset, int dy_stride, int rows, int columns, int dy_rows, int width,
                                    int step)
{
    for (int m = (int)get_group_id(0); m < rows; m += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)m * dx_stride;
        for (int c = 0; c < columns; c++) {
            out[c] = 0.0f;
        }
        for (int k = 0; k < width; k++) {
            int t = row_that_sees(m, k, width, step, dy_rows);
            const __global float *in = dy + dy_offset + (size_t)(t < 0 ? 0 : t) * dy_stride;
            for (int c = 0; c < columns && t >= 0; c++) {
                out[c] += in[c * width + k];
            }
        }
    }
}

GPU_KERNEL void unfold_backward_gpu(__global float *dx, int dx_offset, int dx_stride, const __global float *dy,
                                    int dy_offset, int dy_stride, int rows, int columns, int dy_rows, int width,
                                    int step)
{
    for (int m = (int)get_group_id(0); m < rows; m += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)m * dx_stride;
        for (int c = (int)get_local_id(0); c < columns; c += GROUP) {
            float sum = 0.0f;
            for (int k = 0; k < width; k++) {
                int t = row_that_sees(m, k, width, step, dy_rows);
                if (t >= 0) {
                    sum += dy[dy_offset + (size_t)t * dy_stride + c * width + k];
                }
            }
            out[c] = sum;
        }
    }
}
