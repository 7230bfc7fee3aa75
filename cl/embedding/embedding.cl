/* y[n] = scale * E[ids[n]] + table[positions[n]]: y (N, D), ids and positions (1, N), E (V, D) in the
 * layout of clf__weight_layout(), table (P, D), which may be null. An id outside E gives zeros, a position
 * outside the table adds nothing.
 *
 * CPU variant: a group computes whole rows. GPU variant: a group computes a row; work-item i computes columns i, i +
 * GROUP ..., or four columns at a time if the matrix is row-major.
 *
 * Needs PRECISION, a value of enum clf_precision. */
#ifndef PRECISION
#error "embedding.cl needs PRECISION"
#endif

#include "include/embedding_row.cl"

#define EMBEDDING_ARGUMENTS                                                                                            \
    __global float *y, int y_offset, int y_stride, const __global int *ids, int ids_offset, int ids_stride,            \
        const __global float *table, int table_offset, int table_stride, const __global int *positions,                \
        int positions_offset, int positions_stride, int rows, int columns, const __global embedding_element *e,        \
        int panel, int outputs, float scale, int table_rows

CPU_KERNEL void embedding_forward_cpu(EMBEDDING_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        const __global float *added =
            added_row(table, table_offset, table_stride, table_rows, positions + positions_offset, n);
        embed_row(y + y_offset + (size_t)n * y_stride, columns, e, panel, outputs, ids[ids_offset + n], scale, added);
    }
}

GPU_KERNEL void embedding_forward_gpu(EMBEDDING_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        int id = ids[ids_offset + n];
        int is_row = id >= 0 && id < outputs;
        const __global embedding_element *row = embedding_row(e, panel, is_row ? id : 0, columns);
        float factor = scale_of_embedding(e, panel, is_row ? id : 0, columns, scale);
        const __global float *added =
            added_row(table, table_offset, table_stride, table_rows, positions + positions_offset, n);
#if PRECISION == 0
        if (is_row && panel == 1) {
            for (int k = (int)get_local_id(0) * 4; k < columns; k += QUADS) {
                float4 value = factor * load_quad(row + k, columns - k, 0.0f);
                store_quad(added ? value + load_quad(added + k, columns - k, 0.0f) : value, out + k, columns - k);
            }
            continue;
        }
#endif
        for (int k = (int)get_local_id(0); k < columns; k += GROUP) {
            float value = is_row ? factor * element_of_row(row, panel, k) : 0.0f;
            out[k] = added ? value + added[k] : value;
        }
    }
}

#if PRECISION == 0
/* dE[distinct[u]] += scale * the sum of the rows of dy (N, D) that id_sum.cl assigns to u. A group processes one
 * distinct id at a time; ids outside E are skipped. GPU variant: work-item i adds columns 4i .. 4i + 3 of every QUADS
 * columns. */
#include "include/id_sum.cl"

#define BACKWARD_ARGUMENTS                                                                                             \
    const __global float *dy, int dy_offset, int dy_stride, const __global int *distinct, int distinct_offset,         \
        int distinct_stride, const __global int *first, int first_offset, int first_stride, const __global int *order, \
        int order_offset, int order_stride, int ids, int columns, __global float *e, int panel, int outputs,           \
        float scale, int rows

/* Adds value * scale to column k of a row; `row` is the address of column 0. */
static inline void grow(__global float *row, int panel, int k, float value, float scale)
{
    row[(size_t)k * panel] = fma(value, scale, row[(size_t)k * panel]);
}

CPU_KERNEL void embedding_backward_cpu(BACKWARD_ARGUMENTS)
{
    for (int u = (int)get_group_id(0); u < ids; u += (int)get_num_groups(0)) {
        int id = distinct[distinct_offset + u];
        int begin = max(first[first_offset + u], 0), end = min(first[first_offset + u + 1], rows);
        if (id < 0 || id >= outputs) {
            continue;
        }
        __global float *row = (__global float *)embedding_row(e, panel, id, columns);
        for (int k = 0; k < columns; k += 16) {
            int left = columns - k;
            float16 sum = id_sum16(dy + dy_offset + k, dy_stride, rows, order + order_offset, begin, end, left);
            if (panel == 1 && left >= 16) {
                vstore16(fma16(sum, (float16)(scale), vload16(0, row + k)), 0, row + k);
                continue;
            }
            float lanes[16];
            vstore16(sum, 0, lanes);
            for (int i = 0; i < min(left, 16); i++) {
                grow(row, panel, k + i, lanes[i], scale);
            }
        }
    }
}

GPU_KERNEL void embedding_backward_gpu(BACKWARD_ARGUMENTS)
{
    for (int u = (int)get_group_id(0); u < ids; u += (int)get_num_groups(0)) {
        int id = distinct[distinct_offset + u];
        int begin = max(first[first_offset + u], 0), end = min(first[first_offset + u + 1], rows);
        if (id < 0 || id >= outputs) {
            continue;
        }
        __global float *row = (__global float *)embedding_row(e, panel, id, columns);
        for (int k = (int)get_local_id(0) * 4; k < columns; k += QUADS) {
            int left = columns - k;
            float4 sum = id_sum4(dy + dy_offset + k, dy_stride, rows, order + order_offset, begin, end, left);
            grow(row, panel, k, sum.x, scale);
            if (left > 1) {
                grow(row, panel, k + 1, sum.y, scale);
            }
            if (left > 2) {
                grow(row, panel, k + 2, sum.z, scale);
            }
            if (left > 3) {
                grow(row, panel, k + 3, sum.w, scale);
            }
        }
    }
}
#endif
