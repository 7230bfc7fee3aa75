/* y[n] = x[n] + table[positions[n]]: y and x (N, D), table (P, D), positions (1, N); y may be x. A position that is no
 * row of the table adds nothing.
 *
 * CPU form: a group takes whole rows. GPU form: a group takes a row, work-item i its columns 4i .. 4i + 3, then QUADS
 * further on. No macros are needed. */

CPU_KERNEL void positions_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                      int x_offset, int x_stride, const __global float *table, int table_offset,
                                      int table_stride, const __global int *positions, int positions_offset,
                                      int positions_stride, int rows, int columns, int table_rows)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int position = positions[positions_offset + n];
        int is_row = position >= 0 && position < table_rows;
        const __global float *row = table + table_offset + (size_t)(is_row ? position : 0) * table_stride;
        int k = 0;
        for (; k + 16 <= columns; k += 16) {
            float16 sum = vload16(0, in + k);
            sum += is_row ? vload16(0, row + k) : (float16)(0.0f);
            vstore16(sum, 0, out + k);
        }
        for (; k < columns; k++) {
            out[k] = in[k] + (is_row ? row[k] : 0.0f);
        }
    }
}

GPU_KERNEL void positions_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                      int x_offset, int x_stride, const __global float *table, int table_offset,
                                      int table_stride, const __global int *positions, int positions_offset,
                                      int positions_stride, int rows, int columns, int table_rows)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int position = positions[positions_offset + n];
        int is_row = position >= 0 && position < table_rows;
        const __global float *row = table + table_offset + (size_t)(is_row ? position : 0) * table_stride;
        for (int k = (int)get_local_id(0) * 4; k < columns; k += QUADS) {
            float4 sum = load_quad(in + k, columns - k, 0.0f);
            sum += is_row ? load_quad(row + k, columns - k, 0.0f) : (float4)(0.0f);
            store_quad(sum, out + k, columns - k);
        }
    }
}
