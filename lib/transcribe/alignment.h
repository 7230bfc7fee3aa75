/* When tokens were spoken, by where heads of cross-attention looked (openai/whisper, timing.py): dynamic time
 * warping (Sakoe and Chiba 1978) over the heads' mean. */
#ifndef CLF_TRANSCRIBE_ALIGNMENT_H
#define CLF_TRANSCRIBE_ALIGNMENT_H

#include "base/status.h"

/* Adds one head to a sum, (rows, columns): weights (rows, stride), of each row a distribution whose first
 * `columns` count. They are made one of their own, compared with the other rows' at each column, and smoothed
 * over columns; what was in them is lost. */
void clf__alignment_add_head(float *sum, float *weights, int rows, int stride, int columns);

/* The cheapest way through a matrix (rows, columns) that goes on by a row, a column or both at a time, where
 * high values are cheap: first[r], the column where it comes to row r, or 0 without columns. */
clf_status clf__alignment_warp(int *first, const float *matrix, int rows, int columns);

#endif
