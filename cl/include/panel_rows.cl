/* Multiplies rows of x by one panel of weights and stores the finished results: the work of a group in a GEMM.
 * Include file, not a program.
 *
 * Needs PRECISION, one of clf_precision, and ACTIVATION. */
#include "include/finish.cl"

/* HOLD_PANEL(panel, w, first, inputs, rows): `panel` = `inputs` inputs of the panel at w, starting at input
 * `first`, for `rows` rows. MULTIPLY_ROWS(tile, x, pitch, first, count, ...): tile of count <= BLOCK_ROWS rows
 * times the panel; row r of all inputs starts r * pitch bytes after x. REACH_ROWS(panel, x, pitch, left, inputs)
 * must precede it, with all remaining rows. */
#if PRECISION == 3
#include "include/product_int8.cl"

typedef char weight_element;
#define PANEL_ELEMENTS(inputs) panel_bytes(inputs)

/* No slices, because a tile of floats cannot hold the integer sums. */
#define SLICE_OF(inputs, rows) (inputs)
#define HOLD_PANEL(panel, w, first, inputs, rows)                                                                      \
    int room[ROOM_INTS];                                                                                               \
    struct int8_panel panel;                                                                                           \
    hold_panel(&panel, w, groups_of(inputs), rows, room)
#define REACH_ROWS(panel, x, pitch, left, inputs) reach_rows(&panel, x, pitch, left, groups_of(inputs))
#define MULTIPLY_ROWS(tile, x, pitch, first, count, panel, inputs, turn)                                               \
    block_global(tile, (const __global cpu_operand *)(x), pitch, count, panel, groups_of(inputs), turn)
#else
#include "include/product.cl"

#define PANEL_ELEMENTS(inputs) ((size_t)PANEL * panel_depth(inputs))

#if PRECISION == 2 && defined(HAS_DOT_BF16)
#define SLICE_OF(inputs, rows) (inputs) /* two bytes per input: a panel of 2048 takes 128 KiB, and tiles
                                         * use it whole */
#else
#define SLICE_OF(inputs, rows)                                                                                         \
    ((inputs) > CLF__WHOLE_INPUTS(VECTOR_LANES) && (rows) >= 4 * BLOCK_ROWS ? CLF__SLICE_INPUTS : (inputs))
#endif
#define HOLD_PANEL(panel, w, first, inputs, rows)                                                                      \
    float room[ROOM_FLOATS];                                                                                           \
    struct panel panel;                                                                                                \
    hold_panel(&panel, (w) + PANEL_ELEMENTS(first), inputs, rows, room)
#define REACH_ROWS(panel, x, pitch, left, inputs) reach_rows(&panel, x, pitch, left, inputs)
#define MULTIPLY_ROWS(tile, x, pitch, first, count, panel, inputs, turn)                                               \
    block(tile, (const __global operand_element *)(x) + (first), (pitch) / sizeof(operand_element), count, panel, inputs, \
          (first) > 0, turn)
#endif

/* Maximum number of rows whose sums are kept between slices: the maximum number of rows per group. */
#define SLICED_ROWS ((CLF__GROUP_ROWS + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS)

/* y (rows, columns) and the residual, which may be null, starting at the panel's first column. */
struct panel_result {
    __global result_element *y;
    size_t y_stride;
    const __global float *residual;
    size_t residual_stride;
    const __global float *bias; /* may be null */
    float scale;
    int columns, activates;
};

/* Multiplies by inputs first .. first + inputs - 1 of the panel at w, for some rows. sums: with slices a tile per
 * block of rows, otherwise one tile for all. */
static inline void multiply_slice_of_panel(float16 *sums, const struct panel_result *result, const __global uchar *x,
                                           size_t pitch, int row, int end, const __global weight_element *w, int first,
                                           int inputs, int is_sliced, int is_last)
{
    HOLD_PANEL(panel, w, first, inputs, end - row);
    struct turn turn = first_turn(end - row);
    for (float16 *tile = sums; row < end; row += BLOCK_ROWS, turn.number++, tile += is_sliced ? 2 * BLOCK_ROWS : 0) {
        int count = min(BLOCK_ROWS, end - row);
        __global result_element *y = result->y + row * result->y_stride;
        const __global float *residual = result->residual ? result->residual + row * result->residual_stride : 0;
        if (is_last) {
            fetch_tile(count, y, result->y_stride, residual, result->residual_stride, result->columns);
        }
        REACH_ROWS(panel, x + row * pitch, pitch, end - row, inputs);
        MULTIPLY_ROWS(tile, x + row * pitch, pitch, first, count, panel, inputs, turn);
        if (is_last) {
            finish_tile(tile, count, y, result->y_stride, result->bias, residual, result->residual_stride, result->scale,
                        result->columns, result->activates);
        }
    }
    let_go_panel(&panel);
}

/* Multiplies all `rows` rows of x, `pitch` bytes apart, by the panel at w. The panel stays in the cache meanwhile. */
static inline void multiply_panel(const struct panel_result *result, const __global uchar *x, size_t pitch, int rows,
                                  const __global weight_element *w, int inputs)
{
    int slice = SLICE_OF(inputs, rows), is_sliced = slice < inputs, part = is_sliced ? SLICED_ROWS : rows;
    float16 sums[2 * SLICED_ROWS];
    for (int row = 0; row < rows; row += part) {
        for (int first = 0; first < inputs; first += slice) {
            multiply_slice_of_panel(sums, result, x, pitch, row, min(rows, row + part), w, first,
                                    min(slice, inputs - first), is_sliced, first + slice >= inputs);
        }
    }
}
