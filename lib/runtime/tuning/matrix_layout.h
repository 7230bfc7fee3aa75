/* The layout of operands of matrix instructions (cl/include/matrix.cl); shared by C and
 * OpenCL. */
#ifndef CLF_TUNING_MATRIX_LAYOUT_H
#define CLF_TUNING_MATRIX_LAYOUT_H

/* Words of 16 bytes in a slice of a row, halves in a word, slices in a chunk of a sum, and inputs in a
 * slice of weights of a precision. */
#define CLF__SLICE_WORDS              4
#define CLF__WORD_HALVES              8
#define CLF__CHUNK_SLICES             16
#define CLF__MATRIX_INPUTS(precision) ((precision) == 3 ? 64 : 32)

/* Local memory of each warp in GEMMs with few rows. */
#define CLF__WARP_BYTES 2048

#endif
