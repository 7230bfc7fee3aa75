/* The layout of operands of matrix instructions (cl/include/matrix.cl); shared by C and
 * OpenCL. */
#ifndef CLF_TUNING_MATRIX_LAYOUT_H
#define CLF_TUNING_MATRIX_LAYOUT_H

/* 16-byte words per slice of a row, halves per word, slices per chunk of a sum, and inputs per slice for
 * each precision. */
#define CLF__SLICE_WORDS              4
#define CLF__WORD_HALVES              8
#define CLF__CHUNK_SLICES             16
#define CLF__MATRIX_INPUTS(precision) ((precision) == 3 ? 64 : 32)

/* Local memory of each warp in GEMMs with few rows. */
#define CLF__WARP_BYTES 2048

#endif
