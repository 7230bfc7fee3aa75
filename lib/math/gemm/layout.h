/* Memory layouts shared by host and kernels. C and OpenCL both include this file. */
#ifndef CLF_GEMM_LAYOUT_H
#define CLF_GEMM_LAYOUT_H

#include "runtime/tuning/matrix_layout.h"

/* Outputs per panel of a weight; panels are padded with zeros (clf__weight_layout). */
#define CLF__PANEL 32

/* Bytes after a panel in int8: a scale and a sum for each output, of four bytes each. */
#define CLF__INT8_TAIL (8 * CLF__PANEL)

/* Bytes between rows of packed activations: elements padded to multiples of four, and a tail. The pitch is
 * an odd number of cache lines, to place the rows of a block in different cache sets. */
#define CLF__PACKED_PITCH(inputs, element_bytes, tail_bytes)                                                 \
    (((((inputs) + 3) / 4 * 4 * (element_bytes) + (tail_bytes) + 63) / 64 | 1) * 64)

/* Bytes after a row in int8: the scale and the zero point, of four bytes each. */
#define CLF__INT8_ROW_TAIL 8

/* The row stride of cl/gemm/quantize.cl (GPU variant), in units of 16 bits like that of other operands. */
#define CLF__QUANTIZED_STRIDE(inputs) (CLF__PACKED_PITCH(inputs, 1, CLF__INT8_ROW_TAIL) / 2)

/* For GPU variants: rows and columns of a tile, and rows per group of the kernels for few rows. */
#define CLF__TILE        64
#define CLF__SKINNY_ROWS 16

/* Maximum rows per group of a GEMM, before rounding up to whole blocks of rows. */
#define CLF__GROUP_ROWS 256

/* A group with more inputs than CLF__WHOLE_INPUTS processes them in slices of CLF__SLICE_INPUTS: a slice
 * of a panel and of a block of rows fits in small caches. Processors with 16-float registers have larger
 * caches. */
#define CLF__SLICE_INPUTS        512
#define CLF__WHOLE_INPUTS(lanes) ((lanes) == 16 ? 2048 : 1024)

/* For the projection: panels per block (each has one bit of a mark), and maximum rows per group. */
#define CLF__PROJECTION_PANELS 32
#define CLF__PROJECTION_ROWS   64

#ifdef __OPENCL_C_VERSION__
#define PANEL CLF__PANEL
#endif

#endif
