/* y[n] = x[n] + table[positions[n]]: y and x (N, D), table (P, D), positions (1, N); y may be x. A
 * position outside the table adds nothing.
 *
 * CPU variant: a group computes whole rows. GPU variant: a group computes a row; work-item i computes columns 4i
 * .. 4i + 3 of every QUADS columns. No macros. */

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

/* dtable[distinct[u]] += the sum of the rows of dy (N, D) that id_sum.cl assigns to u: dtable (P, D). A
 * group processes one distinct position at a time; positions outside the table are skipped. */
#include "include/id_sum.cl"

#define BACKWARD_ARGUMENTS                                                                                             \
    __global float *dtable, int dtable_offset, int dtable_stride, const __global float *dy, int dy_offset,             \
        int dy_stride, const __global int *distinct, int distinct_offset, int distinct_stride,                         \
        const __global int *first, int first_offset, int first_stride, const __global int *order, int order_offset,    \
        int order_stride, int positions, int columns, int table_rows, int rows

CPU_KERNEL void positions_backward_cpu(BACKWARD_ARGUMENTS)
{
    for (int u = (int)get_group_id(0); u < positions; u += (int)get_num_groups(0)) {
        int position = distinct[distinct_offset + u];
        int begin = max(first[first_offset + u], 0), end = min(first[first_offset + u + 1], rows);
        if (position < 0 || position >= table_rows) {
            continue;
        }
        __global float *row = dtable + dtable_offset + (size_t)position * dtable_stride;
        for (int k = 0; k < columns; k += 16) {
            int left = columns - k;
            float16 sum = id_sum16(dy + dy_offset + k, dy_stride, rows, order + order_offset, begin, end, left);
            if (left >= 16) {
                vstore16(vload16(0, row + k) + sum, 0, row + k);
            } else {
                store_part(load_part(row + k, left, 0.0f) + sum, row + k, left);
            }
        }
    }
}

GPU_KERNEL void positions_backward_gpu(BACKWARD_ARGUMENTS)
{
    for (int u = (int)get_group_id(0); u < positions; u += (int)get_num_groups(0)) {
        int position = distinct[distinct_offset + u];
        int begin = max(first[first_offset + u], 0), end = min(first[first_offset + u + 1], rows);
        if (position < 0 || position >= table_rows) {
            continue;
        }
        __global float *row = dtable + dtable_offset + (size_t)position * dtable_stride;
        for (int k = (int)get_local_id(0) * 4; k < columns; k += QUADS) {
            int left = columns - k;
            float4 sum = id_sum4(dy + dy_offset + k, dy_stride, rows, order + order_offset, begin, end, left);
            store_quad(load_quad(row + k, left, 0.0f) + sum, row + k, left);
        }
    }
}
