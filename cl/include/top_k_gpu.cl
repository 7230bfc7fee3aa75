/* The GPU variant of top_k.cl; included by it, not a program. */

/* Columns are assigned to work-items cyclically: a load of the group then reads whole memory sectors even if the
 * row is unaligned, as rows are if the number of columns is odd. A work-item has 32 loads in flight: with a single
 * row, and so a single group, latency dominates. */
#define BLOCK (32 * GROUP)

/* Returns the work-item to which a column is assigned. */
static int slice_of(int column)
{
    return column % GROUP;
}

/* The state of a work-item: the largest value of its columns, the first column with it (-1: none), and the
 * sum of exp(x - best). */
struct slice {
    float best;
    int id;
    float4 sums;
};

/* Loads four columns of a work-item. */
static inline float4 load_four(const __global float *x)
{
    return (float4)(x[0], x[GROUP], x[2 * GROUP], x[3 * GROUP]);
}

/* Loads one of the columns at, at + GROUP ... A column outside the row is replaced by column c, which is inside,
 * so no load depends on a branch. */
static inline float load_one_of(const __global float *x, int c, int at, int columns)
{
    float value = x[at < columns ? at : c];
    return at < columns ? value : -INFINITY;
}

static inline float4 load_four_of(const __global float *x, int c, int at, int columns)
{
    return (float4)(load_one_of(x, c, at, columns), load_one_of(x, c, at + GROUP, columns),
                    load_one_of(x, c, at + 2 * GROUP, columns), load_one_of(x, c, at + 3 * GROUP, columns));
}

/* exp(x - largest); NaN stays NaN. The rounding of the multiplication does not matter for results that are
 * not negligible. */
static inline float4 exp4_below(float4 x, float largest)
{
    return exp2(M_LOG2E_F * (x - largest));
}

/* Finds the maximum and the sum in one pass over a row: exponentials are relative to the largest value so far, and
 * a larger value rescales the sum. Inlined early, as is group_log_sum(): later inlining leaves an alias intrinsic
 * that Oclgrind does not know. */
static inline __attribute__((always_inline)) struct slice read_slice(const __global float *x, int columns)
{
    struct slice slice = {-INFINITY, -1, (float4)(0.0f)};
    int item = (int)get_local_id(0);
    for (int c = item; c < columns; c += BLOCK) {
        float4 v0, v1, v2, v3, v4, v5, v6, v7;
        if (columns - (c - item) >= BLOCK) { /* all columns of the group are inside */
            v0 = load_four(x + c);
            v1 = load_four(x + c + 4 * GROUP);
            v2 = load_four(x + c + 8 * GROUP);
            v3 = load_four(x + c + 12 * GROUP);
            v4 = load_four(x + c + 16 * GROUP);
            v5 = load_four(x + c + 20 * GROUP);
            v6 = load_four(x + c + 24 * GROUP);
            v7 = load_four(x + c + 28 * GROUP);
        } else {
            v0 = load_four_of(x, c, c, columns);
            v1 = load_four_of(x, c, c + 4 * GROUP, columns);
            v2 = load_four_of(x, c, c + 8 * GROUP, columns);
            v3 = load_four_of(x, c, c + 12 * GROUP, columns);
            v4 = load_four_of(x, c, c + 16 * GROUP, columns);
            v5 = load_four_of(x, c, c + 20 * GROUP, columns);
            v6 = load_four_of(x, c, c + 24 * GROUP, columns);
            v7 = load_four_of(x, c, c + 28 * GROUP, columns);
        }
        float largest = max4(fmax(fmax(fmax(v0, v1), fmax(v2, v3)), fmax(fmax(v4, v5), fmax(v6, v7)))); /* NaN is ignored */
        if (largest > slice.best) {
            int4 at = select((int4)(32), (int4)(28, 29, 30, 31), v7 == largest);
            at = select(at, (int4)(24, 25, 26, 27), v6 == largest);
            at = select(at, (int4)(20, 21, 22, 23), v5 == largest);
            at = select(at, (int4)(16, 17, 18, 19), v4 == largest);
            at = select(at, (int4)(12, 13, 14, 15), v3 == largest);
            at = select(at, (int4)(8, 9, 10, 11), v2 == largest);
            at = select(at, (int4)(4, 5, 6, 7), v1 == largest);
            at = select(at, (int4)(0, 1, 2, 3), v0 == largest);
            slice.id = c + GROUP * min(min(at.x, at.y), min(at.z, at.w));
            slice.sums *= exp2(M_LOG2E_F * (slice.best - largest));
            slice.best = largest;
        }
        float below = slice.best == -INFINITY ? 0.0f : slice.best; /* the difference would be NaN */
        float4 sums = (exp4_below(v0, below) + exp4_below(v1, below)) + (exp4_below(v2, below) + exp4_below(v3, below));
        float4 rest = (exp4_below(v4, below) + exp4_below(v5, below)) + (exp4_below(v6, below) + exp4_below(v7, below));
        slice.sums += sums + rest;
    }
    return slice;
}

/* Returns the log of the sum of exp(x - largest) over the slices of the group; `largest` is their maximum. */
static inline __attribute__((always_inline)) float group_log_sum(__local float *shared, struct slice slice,
                                                                 float largest)
{
    float scale = largest == -INFINITY ? 1.0f : exp2(M_LOG2E_F * (slice.best - largest));
    return log(group_sum(shared, sum4(slice.sums) * scale));
}

/* Returns the next candidate of a slice after a given one; the whole group searches that slice. */
static ulong next_of_slice(__local ulong *shared, const __global float *x, int columns, ulong last)
{
    ulong next = 0;
    for (int c = slice_of(id_of(last)) + GROUP * (int)get_local_id(0); c < columns; c += GROUP * GROUP) {
        ulong key = key_of(x[c], c);
        next = key < last ? max(next, key) : next;
    }
    return group_max_key(shared, next);
}

/* Finds the k best of a row from the best of each work-item's slice and the best of all. Repeats k times: takes
 * the best remaining value and searches its slice again. keys has GROUP entries. The ids are columns of the row,
 * plus first_id. */
static void group_row_top_k(__local ulong *keys, __global float *values, __global int *ids, int k, ulong own,
                            ulong first, const __global float *x, int columns, int first_id)
{
    int item = (int)get_local_id(0);
    for (int i = 0; i < k; i++) {
        if (i > 0 && first) {
            ulong next = next_of_slice(keys, x, columns, first);
            own = slice_of(id_of(first)) == item ? next : own;
            first = group_max_key(keys, own);
        }
        if (item == 0) {
            values[i] = value_of(first);
            ids[i] = first ? first_id + id_of(first) : -1;
        }
    }
}

/* Sets banned logits to -inf, one per work-item at a time; repeated ids are harmless. */
static void group_ban(__global float *x, int columns, const __global int *banned, int first, int end)
{
    if (first >= end) {
        return;
    }
    barrier(CLK_GLOBAL_MEM_FENCE); /* the unmodified row has been read */
    for (int i = first + (int)get_local_id(0); i < end; i += GROUP) {
        int id = banned[i];
        if (id >= 0 && id < columns) {
            x[id] = -INFINITY;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
}
