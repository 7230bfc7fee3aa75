/* Register blocks: the sums of ROWS rows and some vectors of outputs in registers. Include file, not a program.
 *
 * All loops over a block are unrolled, because arrays with variable indices would be kept in memory. */
#include "include/fetch.cl"

/* Vectors of a panel in a block. With one or two rows a block is the whole panel, because two vectors have
 * too few chains of sums to hide the latency of additions. */
#define BLOCK_VECTORS(ROWS) ((ROWS) <= 2 ? PANEL / VECTOR_LANES : 2)

/* Runs the body for each block of columns of a panel: the block starts at column c and has COUNT vectors. */
#define FOR_COLUMNS(c, COUNT) for (int c = 0; c < PANEL; c += COUNT * VECTOR_LANES)

/* Runs the statement for each row r and vector v. */
#define FOR_SUMS(r, ROWS, v, COUNT, statement)                                                                         \
    _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                                   \
    {                                                                                                                  \
        _Pragma("unroll") for (int v = 0; v < COUNT; v++)                                                              \
        {                                                                                                              \
            statement;                                                                                                 \
        }                                                                                                              \
    }

/* Expands DO(ROWS, argument) for each possible number of rows of a block. */
#if BLOCK_ROWS == 6
#define FOR_BLOCK_SIZES(DO, argument)                                                                                  \
    DO(1, argument) DO(2, argument) DO(3, argument) DO(4, argument) DO(5, argument) DO(6, argument)
#else
#define FOR_BLOCK_SIZES(DO, argument)                                                                                  \
    DO(1, argument) DO(2, argument) DO(3, argument) DO(4, argument) DO(5, argument) DO(6, argument) DO(7, argument)    \
    DO(8, argument)
#endif

/* Calls block_<count>() with the list of arguments, which is in parentheses. */
#define BLOCK_CASE(ROWS, arguments) case ROWS: block_##ROWS arguments; break;
#define CALL_BLOCK(count, arguments)                                                                                   \
    switch (count) {                                                                                                   \
        FOR_BLOCK_SIZES(BLOCK_CASE, arguments)                                                                         \
    }

/* rows[r]: row r of x, of `pitch` bytes each. */
#define HOLD_ROWS(ROWS, T, rows, x, pitch)                                                                             \
    const __global T *rows[ROWS];                                                                                      \
    _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                                   \
    {                                                                                                                  \
        rows[r] = (const __global T *)((const __global uchar *)(x) + r * (pitch));                                     \
        HOLD_POINTER(rows[r]);                                                                                         \
    }

/* The first column of vector v of the block of columns starting at c. */
#define COLUMN(c, v) ((c) + (v) * VECTOR_LANES)

/* Expands MULTIPLY(sum, value, weight) for each of the sums (ROWS, COUNT): `weight` is an expression of the vector
 * v, and `value` one of the row r. */
#define ADD_INPUT(r, ROWS, v, COUNT, sums, MULTIPLY, weight_type, weight, value_type, value)                           \
    {                                                                                                                  \
        weight_type vectors_[COUNT];                                                                                   \
        _Pragma("unroll") for (int v = 0; v < COUNT; v++)                                                              \
        {                                                                                                              \
            vectors_[v] = weight;                                                                                      \
        }                                                                                                              \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            value_type value_ = value;                                                                                 \
            _Pragma("unroll") for (int v = 0; v < COUNT; v++)                                                          \
            {                                                                                                          \
                MULTIPLY(sums[r][v], value_, vectors_[v]);                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define MULTIPLY_FLOATS(acc, x, w) acc = fmav(x, w, acc)
