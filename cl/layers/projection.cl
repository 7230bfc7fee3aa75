/* The k best of each row of logits (R, V) = scale * x (R, K) Wᵀ + bias, and the statistics of
 * log-probabilities, without storing the logits: the results of top_k.cl and softmax.cl's log_softmax_pick
 * on a matrix of logits.
 *
 * Columns are processed in blocks of 32 panels. The state of a row and a block is
 *
 *     sum         of exp(logit - base), without the banned ids
 *     base        the initial base of the block, or more
 *     suppressed  sum of exp(logit - largest), and largest, of the banned ids
 *
 * Blocks depend only on V, and sums do not cross blocks, so bits do not depend on the assignment of blocks to
 * groups. The candidates of a row are kept in lists, one for each group that has some of its blocks; the
 * candidates do not depend on this assignment.
 *
 * A row of partials: base, sum, suppressed and suppressed_largest of each block, then the values of each list (lists,
 * k); a row of ids: the ids of each list. For a pick, there are no banned ids, k is 1, and picked holds the label's
 * logit of each row.
 *
 * With a counter (1) of zero, which needs HAS_DEVICE_ATOMICS, the last group also merges the results and
 * resets the counter: this saves a launch in steps of few rows.
 *
 * Only for CPU variants: GPU variants write the logits, and top_k.cl reads them.
 *
 * product.cl and product_int8.cl describe the layout of W and the order of sums. Needs PRECISION, one of
 * clf_precision. */
#if PRECISION == 3
#include "include/product_int8.cl"

typedef char weight_element;
typedef uchar operand_element; /* rows of bytes as quantize.cl writes them */

static inline const __global weight_element *panel_of(const __global weight_element *w, int panel, int inputs)
{
    return w + panel * panel_bytes(inputs);
}

/* int8 weights are not widened, because for the rows of one group this saves no time. Only tiles need work
 * space. */
#ifdef HAS_TILES
#define ROOM_FOR_PANEL ROOM_INTS
#else
#define ROOM_FOR_PANEL 1
#endif

typedef struct int8_panel held_panel;
#define HOLD_PANEL(held, panel, inputs, rows)                                                                          \
    int room[ROOM_FOR_PANEL];                                                                                          \
    held_panel held;                                                                                                   \
    hold_panel(&held, panel, groups_of(inputs), 0, room)

/* tile (min(left, BLOCK_ROWS), 32) = the first of the remaining rows times one panel. */
static inline void multiply(float16 *tile, const __global operand_element *x, size_t x_stride, int left, held_panel *held,
                            int inputs, struct turn turn)
{
    reach_rows(held, x, x_stride, left, groups_of(inputs));
    block_global(tile, (const __global cpu_operand *)x, x_stride, min(left, BLOCK_ROWS), *held, groups_of(inputs), turn);
}
#else
#include "include/product.cl"

static inline const __global weight_element *panel_of(const __global weight_element *w, int panel, int inputs)
{
    return w + (size_t)panel * panel_depth(inputs) * PANEL;
}

typedef struct panel held_panel;
#define HOLD_PANEL(held, panel, inputs, rows)                                                                          \
    float room[ROOM_FLOATS];                                                                                           \
    held_panel held;                                                                                                   \
    hold_panel(&held, panel, inputs, rows, room)

static inline void multiply(float16 *tile, const __global operand_element *x, size_t x_stride, int left, held_panel *held,
                            int inputs, struct turn turn)
{
    reach_rows(held, (const __global uchar *)x, x_stride * sizeof *x, left, inputs);
    block(tile, x, x_stride, min(left, BLOCK_ROWS), *held, inputs, 0, turn);
}
#endif
#include "include/candidates.cl"
#include "math/ops/arguments.h"

#define BLOCK_PANELS CLF__PROJECTION_PANELS
#define MOST_ROWS    CLF__PROJECTION_ROWS
#define SHORT_LIST   16 /* candidates that a vector holds */

/* Maximum difference between the largest logit of a row and the base of its exponentials: no sum overflows, and
 * nearly all panels keep the base. */
#define MOST_ABOVE 20.0f

#include "include/projection_states.cl"

#ifdef HAS_DEVICE_ATOMICS
typedef atomic_int counter_value;
#else
typedef int counter_value;
#endif

/* The rows of a group: the first row's values, and the stride. */
struct row_group {
    int count, k;
    __global float *partials, *values; /* both have partials_stride */
    __global int *ids;
    const __global operand_element *x;
    int partials_stride, ids_stride, x_stride;
    struct ban_list bans;
    const __global int *labels; /* or 0 */
    __global float *picked;
};

static inline void begin_rows(struct row_states *states, const struct row_group *group)
{
    for (int i = 0; i < group->count; i++) {
        clear(group->values + (size_t)i * group->partials_stride, group->ids + (size_t)i * group->ids_stride, group->k);
        states->lasts[i] = -INFINITY;
        states->best[i] = LANES < SHORT_LIST - group->k ? (float16)(INFINITY) : (float16)(-INFINITY);
        states->best_ids[i] = -1;
    }
}

static inline void begin_blocks(struct row_states *states, const struct row_group *group, int first_panel)
{
    for (int i = 0; i < group->count; i++) {
        begin_block(states, i);
        if (group->labels) {
            states->marks[i] = panel_bit(group->labels[i], first_panel);
        } else {
            for (int n = first_ban(&group->bans, i); n < end_ban(&group->bans, i); n++) {
                states->marks[i] |= panel_bit(group->bans.ids[n], first_panel);
            }
        }
    }
}

/* Loads the addends of the panel's logits: the bias, and -inf beyond the last column. */
static inline void load_shifts(float16 *left, float16 *right, const __global float *bias, int width)
{
    *left = *right = 0.0f;
    if (bias) {
        *left = width >= 16 ? vload16(0, bias) : load_part(bias, width, 0.0f);
        *right = width >= 32 ? vload16(0, bias + 16) : load_part(bias + 16, width - 16, 0.0f);
    }
    if (width < PANEL) {
        *left = LANES < width ? *left : (float16)(-INFINITY);
        *right = LANES + 16 < width ? *right : (float16)(-INFINITY);
    }
}

/* Processes a panel with a label, whose logit is picked, or with banned ids, whose logits are suppressed. */
static inline void take_marked(struct row_states *states, const struct row_group *group, int i, int column, float16 *left,
                               float16 *right)
{
    float logits[PANEL];
    vstore16(*left, 0, logits);
    vstore16(*right, 1, logits);
    if (group->labels) {
        group->picked[i] = logits[group->labels[i] - column];
    } else {
        suppress_banned(states, i, logits, column, &group->bans, i);
        *left = vload16(0, logits);
        *right = vload16(1, logits);
    }
}

/* Processes the panel that starts at `column`; `mark` is its bit in the block, `shifts` is the bias starting at
 * that column. */
static inline void take_panel(struct row_states *states, const struct row_group *group,
                              const __global weight_element *panel, int inputs, int column, int width, int mark,
                              const __global float *shifts, float scale)
{
    float16 tile[2 * BLOCK_ROWS], left_shift, right_shift;
    struct turn turn = first_turn(group->count);
    HOLD_PANEL(held, panel, inputs, group->count);
    load_shifts(&left_shift, &right_shift, shifts, width);
    for (int i = 0; i < group->count; i++) {
        int row = i % BLOCK_ROWS;
        if (row == 0) {
            multiply(tile, group->x + (size_t)i * group->x_stride, group->x_stride, group->count - i, &held, inputs, turn);
            turn.number++;
        }
        float16 left = fma16((float16)scale, tile[2 * row], left_shift);
        float16 right = fma16((float16)scale, tile[2 * row + 1], right_shift);
        if (states->marks[i] >> mark & 1) {
            take_marked(states, group, i, column, &left, &right);
        }
        if (ANY(left > states->thresholds[i] || right > states->thresholds[i])) {
            raise_threshold(states, i, left, right, column, group->values + (size_t)i * group->partials_stride,
                      group->ids + (size_t)i * group->ids_stride, group->k);
        }
        float base = states->bases[i] == -INFINITY ? 0.0f : states->bases[i];
        states->sums[i] += exp_of(left - base) + exp_of(right - base);
    }
    let_go_panel(&held);
}

static inline void store_blocks(const struct row_states *states, const struct row_group *group, int block, int blocks)
{
    for (int i = 0; i < group->count; i++) {
        __global float *partial = group->partials + (size_t)i * group->partials_stride + block;
        partial[0] = states->bases[i];
        partial[blocks] = sum16(states->sums[i]);
        partial[2 * blocks] = states->suppressed[i];
        partial[3 * blocks] = states->suppressed_largest[i];
    }
}

/* A group computes at most 64 rows of a share of the blocks; adjacent groups have the same share, whose panels
 * stay in the shared cache. */
CPU_KERNEL void projection_tiles_cpu(__global float *partials, __global int *ids, const __global operand_element *x,
                                     const __global weight_element *w, const __global float *bias,
                                     const __global int *banned, const __global int *banned_offsets,
                                     const __global int *labels, __global float *picked,
                                     __global counter_value *counter, __global float *best, __global int *best_ids,
                                     __global float *statistics, struct clf__projection_sizes sizes)
{
    int panels = (sizes.outputs + PANEL - 1) / PANEL, inputs = sizes.inputs, k = sizes.k;
    int blocks = (panels + BLOCK_PANELS - 1) / BLOCK_PANELS;
    int lists = (int)get_num_groups(1), list = (int)get_group_id(1);
    int first_row = (int)get_group_id(0) * sizes.rows_per_group;
    const struct row_group group = {
        .count = min(sizes.rows_per_group, sizes.rows - first_row),
        .k = k,
        .partials = ROW(sizes, partials, first_row),
        .values = ROW(sizes, partials, first_row) + 4 * blocks + (size_t)list * k,
        .ids = ROW(sizes, ids, first_row) + list * k,
        .x = ROW(sizes, x, first_row),
        .partials_stride = sizes.partials.stride,
        .ids_stride = sizes.ids.stride,
        .x_stride = sizes.x.stride,
        .bans = {banned + sizes.banned.offset, banned_offsets + sizes.banned_offsets.offset + first_row, sizes.banned_count},
        .labels = labels ? labels + sizes.labels.offset + first_row : 0,
        .picked = picked + sizes.picked.offset + first_row,
    };
    struct row_states states;
    begin_rows(&states, &group);
    int end_block = (int)((size_t)blocks * (list + 1) / lists);
    for (int b = (int)((size_t)blocks * list / lists); b < end_block; b++) {
        int first_panel = b * BLOCK_PANELS, end_panel = min(first_panel + BLOCK_PANELS, panels);
        begin_blocks(&states, &group, first_panel);
        for (int panel = first_panel; panel < end_panel; panel++) {
            int column = panel * PANEL;
            take_panel(&states, &group, panel_of(w, panel, inputs), inputs, column, sizes.outputs - column,
                       panel - first_panel, bias ? bias + column : 0, sizes.scale);
        }
        store_blocks(&states, &group, b, blocks);
    }
    for (int i = 0; k <= SHORT_LIST && i < group.count; i++) {
        store_last(&states.best[i], &states.best_ids[i], group.values + (size_t)i * group.partials_stride,
                   group.ids + (size_t)i * group.ids_stride, k);
    }
#ifdef HAS_DEVICE_ATOMICS
    int groups = (int)(get_num_groups(0) * get_num_groups(1));
    __global atomic_int *ended = counter + sizes.counter.offset;
    if (best && atomic_fetch_add_explicit(ended, 1, memory_order_acq_rel, memory_scope_device) == groups - 1) {
        atomic_store_explicit(ended, 0, memory_order_relaxed, memory_scope_device);
        for (int r = 0; r < sizes.rows; r++) {
            merge_row(ROW(sizes, best, r), ROW(sizes, best_ids, r), ROW(sizes, statistics, r),
                      ROW(sizes, partials, r), ROW(sizes, ids, r), blocks, lists, k, sizes.both);
        }
    }
#endif
}

/* values (R, k), ids (R, k), statistics (R, 4). A group processes whole rows. */
CPU_KERNEL void projection_top_k_cpu(__global float *values, int values_offset, int values_stride, __global int *ids,
                                     int ids_offset, int ids_stride, __global float *statistics, int statistics_offset,
                                     int statistics_stride, const __global float *partials, int partials_offset,
                                     int partials_stride, const __global int *found_ids, int found_ids_offset,
                                     int found_ids_stride, int rows, int outputs, int blocks, int lists, int k, int both)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        merge_row(values + values_offset + (size_t)r * values_stride, ids + ids_offset + (size_t)r * ids_stride,
                  statistics + statistics_offset + (size_t)r * statistics_stride,
                  partials + partials_offset + (size_t)r * partials_stride,
                  found_ids + found_ids_offset + (size_t)r * found_ids_stride, blocks, lists, k, both);
    }
}

/* picked[r] = log softmax(logits[r])[labels[r]], -inf for a label that is no column; on entry, picked holds the
 * label's logit. */
CPU_KERNEL void projection_pick_cpu(__global float *picked, int picked_offset, int picked_stride, const __global int *labels,
                                    int labels_offset, int labels_stride, const __global float *partials,
                                    int partials_offset, int partials_stride, int rows, int outputs, int blocks, int lists)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        const __global float *partial = partials + partials_offset + (size_t)r * partials_stride;
        const __global float *found = partial + 4 * blocks;
        int label = labels[labels_offset + r];
        float largest = -INFINITY, answer = -INFINITY;
        for (int list = 0; list < lists; list++) {
            largest = fmax(largest, found[list]);
        }
        largest = largest == -INFINITY ? 0.0f : largest;
        if (label >= 0 && label < outputs) {
            float sum = merged(partial + blocks, partial, largest, blocks);
            answer = (picked[picked_offset + r] - largest) - (sum == 0.0f ? 0.0f : log(sum));
        }
        picked[picked_offset + r] = answer;
    }
}
