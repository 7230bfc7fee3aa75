/* NumPy's .npy files: two-dimensional float32 matrices. */
#ifndef CLF_AUDIO_NPY_H
#define CLF_AUDIO_NPY_H

#include "base/status.h"

/* Reads a C-ordered, little-endian float32 matrix with `columns` columns and at least one row; the caller
 * frees *values (rows, columns). Returns CLF_FORMAT for other contents. */
clf_status clf__npy_read(float **values, int *rows, const char *path, int columns);

#endif
