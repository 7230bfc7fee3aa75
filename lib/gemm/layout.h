/* How what the host packs and kernels read lies in memory: C and OpenCL include this one file. */
#ifndef CLF_GEMM_LAYOUT_H
#define CLF_GEMM_LAYOUT_H

#include "tuning/matrix_layout.h"

/* Outputs of a weight that lie together, zero beyond the last (clf__weight_layout). */
#define CLF__PANEL 32

/* What follows a panel in int8: a scale and a sum for each output, of four bytes each. */
#define CLF__INT8_TAIL (8 * CLF__PANEL)

/* Bytes from row to row of packed activations: whole groups of four elements and a tail, in an odd number of
 * cache lines, so that the rows of a block fall on different sets. */
#define CLF__PACKED_PITCH(inputs, element_bytes, tail_bytes)                                                 \
    (((((inputs) + 3) / 4 * 4 * (element_bytes) + (tail_bytes) + 63) / 64 | 1) * 64)

/* What follows a row in int8: its scale and its zero, of four bytes each. */
#define CLF__INT8_ROW_TAIL 8

/* From row to row of cl/gemm/quantize.cl in its GPU form, counted in 16 bits as other operands are. */
#define CLF__QUANTIZED_STRIDE(inputs) (CLF__PACKED_PITCH(inputs, 1, CLF__INT8_ROW_TAIL) / 2)

/* Of GPU forms: rows and columns of a tile, and rows of a group of the kernels for few of them. */
#define CLF__TILE        64
#define CLF__SKINNY_ROWS 16

/* Rows of a product's group at most, if whole blocks of rows do not make them a few more. */
#define CLF__GROUP_ROWS 256

/* Where a group has more inputs than the second, its rows take them in slices of the first: of a slice, a
 * panel and the rows of a block stay in the caches of processors that have little of them. Those with
 * registers of 16 floats have more. */
#define CLF__SLICE_INPUTS        512
#define CLF__WHOLE_INPUTS(lanes) ((lanes) == 16 ? 2048 : 1024)

/* Of a projection's groups: panels that are marked as seen, a bit each, and rows at most. */
#define CLF__PROJECTION_PANELS 32
#define CLF__PROJECTION_ROWS   64

#ifdef __OPENCL_C_VERSION__
#define PANEL CLF__PANEL
#endif

#endif
