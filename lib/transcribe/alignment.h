/* Token timestamps from the cross-attention of selected heads (openai/whisper, timing.py): dynamic time
 * warping (Sakoe and Chiba 1978) over the mean of the heads. */
#ifndef CLF_TRANSCRIBE_ALIGNMENT_H
#define CLF_TRANSCRIBE_ALIGNMENT_H

#include "base/status.h"

/* Adds one head to a sum (rows, columns). weights (rows, stride) are distributions of which the first
 * `columns` columns are used: these are renormalised, standardised over the rows of each column, and
 * median-filtered along columns. Overwrites weights. */
void clf__alignment_add_head(float *sum, float *weights, int rows, int stride, int columns);

/* Finds the monotonic path with the largest sum through a matrix (rows, columns); each step advances a row, a
 * column or both. first[r] receives the column at which the path enters row r, or 0 if there are no columns.
 */
clf_status clf__alignment_warp(int *first, const float *matrix, int rows, int columns);

#endif
