/* Token timestamps from the cross-attention of selected heads (openai/whisper, timing.py): dynamic time
 * warping (Sakoe and Chiba 1978) over the mean of the heads. */
#ifndef CLF_TRANSCRIBE_ALIGNMENT_H
#define CLF_TRANSCRIBE_ALIGNMENT_H

#include "base/status.h"

enum { CLF__MEDIAN_REACH = 3 }; /* neighbours on either side in the median filter of openai/whisper */

/* Adds one head to a sum (rows, columns). weights (rows, stride) are distributions. The first `columns`
 * columns are renormalised, standardised over the rows of each column, and, unless there are too few columns,
 * filtered along columns by the median of 2 * reach + 1 values. Overwrites weights. */
clf_status clf__alignment_add_head(float *sum, float *weights, int rows, int stride, int columns, int reach);

/* Finds the monotonic path with the largest sum through a matrix (rows, columns); each step advances a row, a
 * column or both. first[r] and last[r] receive the columns at which the path enters and leaves row r, or 0 if
 * there are no columns; last may be NULL. */
clf_status clf__alignment_warp(int *first, int *last, const float *matrix, int rows, int columns);

#endif
