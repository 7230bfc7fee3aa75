#include "transcribe/alignment.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum {
    WIDTH = 2 * CLF__MEDIAN_REACH + 1,
    BLOCK = 64, /* columns normalised at a time */
};

/* Normalises the first `columns` values of each row to sum to 1. */
static void cut_rows(float *weights, int rows, int stride, int columns)
{
    for (int r = 0; r < rows; r++) {
        float *row = weights + (size_t)r * (size_t)stride;
        double sum = 0.0;
        for (int c = 0; c < columns; c++) {
            sum += (double)row[c];
        }
        for (int c = 0; c < columns; c++) {
            row[c] = sum > 0.0 ? (float)((double)row[c] / sum) : 1.0F / (float)columns;
        }
    }
}

/* Normalises at most BLOCK columns: subtracts the mean over rows and divides by the standard deviation.
 * Constant columns become 0. */
static void normalise(float *weights, int rows, int stride, int columns)
{
    double mean[BLOCK] = {0}, squares[BLOCK] = {0};
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            mean[c] += (double)weights[(size_t)r * (size_t)stride + (size_t)c] / rows;
        }
    }
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            double value = (double)weights[(size_t)r * (size_t)stride + (size_t)c] - mean[c];
            squares[c] += value * value / rows;
        }
    }
    for (int r = 0; r < rows; r++) {
        float *row = weights + (size_t)r * (size_t)stride;
        for (int c = 0; c < columns; c++) {
            float deviation = (float)sqrt(squares[c]);
            row[c] = deviation > 0.0F ? (row[c] - (float)mean[c]) / deviation : 0.0F;
        }
    }
}

static void order(float *low, float *high)
{
    float less = *low < *high ? *low : *high, more = *low < *high ? *high : *low;
    *low = less;
    *high = more;
}

/* Returns the median of seven values by a partial sorting network. */
static float median_of_seven(const float *values)
{
    static const unsigned char network[][2] = {{0, 5}, {0, 3}, {1, 6}, {2, 4}, {0, 1}, {3, 5}, {2, 6},
                                               {2, 3}, {3, 6}, {4, 5}, {1, 4}, {1, 3}, {3, 4}};
    float own[WIDTH];
    memcpy(own, values, sizeof own);
    for (size_t i = 0; i < sizeof network / sizeof *network; i++) {
        order(&own[network[i][0]], &own[network[i][1]]);
    }
    return own[CLF__MEDIAN_REACH];
}

/* Returns the median of an odd number of values, which it sorts. */
static float median(float *values, int count)
{
    for (int i = 1; i < count; i++) {
        float value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    return values[count / 2];
}

/* Returns index c, reflected at either edge of `columns`. */
static int mirror(int c, int columns)
{
    int from = c < 0 ? -c : c;
    return from < columns ? from : 2 * (columns - 1) - from;
}

/* Adds the median-filtered values of a row. scratch: (2 * reach + 1) */
static void add_medians(float *sum, const float *row, int columns, int reach, float *scratch)
{
    int width = 2 * reach + 1;
    for (int c = 0; c < columns; c++) {
        if (width == WIDTH && c >= reach && c + reach < columns) {
            sum[c] += median_of_seven(row + c - reach);
            continue;
        }
        for (int i = 0; i < width; i++) {
            scratch[i] = row[mirror(c - reach + i, columns)];
        }
        sum[c] += median(scratch, width);
    }
}

clf_status clf__alignment_add_head(float *sum, float *weights, int rows, int stride, int columns, int reach)
{
    float *scratch = NULL;
    if (columns > reach) {
        CLF__TRY(clf__allocate(&scratch, 2 * (size_t)reach + 1, sizeof *scratch));
    }
    cut_rows(weights, rows, stride, columns);
    for (int c = 0; c < columns; c += BLOCK) {
        normalise(weights + c, rows, stride, columns - c < BLOCK ? columns - c : BLOCK);
    }
    for (int r = 0; r < rows; r++) {
        float *row = weights + (size_t)r * (size_t)stride, *into = sum + (size_t)r * (size_t)columns;
        if (columns > reach) {
            add_medians(into, row, columns, reach, scratch);
            continue;
        }
        for (int c = 0; c < columns; c++) {
            into[c] += row[c];
        }
    }
    clf__free(scratch);
    return CLF_OK;
}

/* The move that led to a cell. */
enum move { BOTH, NEXT_ROW, NEXT_COLUMN };

/* Computes one row of costs from the previous row; both rows have an extra cell before the first column. */
static void cost_row(uint8_t *moves, float *costs, const float *before, const float *matrix, int columns)
{
    costs[0] = INFINITY;
    for (int c = 0; c < columns; c++) {
        float both = before[c], row = before[c + 1], column = costs[c], least = column;
        moves[c] = NEXT_COLUMN;
        if (both < row && both < column) {
            least = both;
            moves[c] = BOTH;
        } else if (row < both && row < column) {
            least = row;
            moves[c] = NEXT_ROW;
        }
        costs[c + 1] = least - matrix[c];
    }
}

/* Traces the path from the last cell to the first. */
static void trace_back(int *first, int *last, const uint8_t *moves, int rows, int columns)
{
    int c = columns - 1;
    for (int r = rows - 1; r >= 0; r--) {
        const uint8_t *row = moves + (size_t)r * (size_t)columns;
        if (last != NULL) {
            last[r] = c > 0 ? c : 0;
        }
        while (c > 0 && (r == 0 || row[c] == NEXT_COLUMN)) {
            c--;
        }
        first[r] = c > 0 ? c : 0;
        c -= c > 0 && row[c] == BOTH;
    }
}

clf_status clf__alignment_warp(int *first, int *last, const float *matrix, int rows, int columns)
{
    size_t width = (size_t)columns + 1;
    float *costs = NULL;
    uint8_t *moves = NULL;
    CLF__TRY(clf__allocate(&costs, 2 * width, sizeof *costs));
    clf_status status = clf__allocate(&moves, (size_t)rows * (size_t)columns, sizeof *moves);
    for (size_t c = 1; c < width; c++) {
        costs[c] = INFINITY;
    }
    for (int r = 0; r < rows && status == CLF_OK; r++) {
        cost_row(moves + (size_t)r * (size_t)columns, costs + (size_t)((r + 1) % 2) * width,
                 costs + (size_t)(r % 2) * width, matrix + (size_t)r * (size_t)columns, columns);
    }
    if (status == CLF_OK) {
        trace_back(first, last, moves, rows, columns);
    }
    clf__free(costs);
    clf__free(moves);
    return status;
}
