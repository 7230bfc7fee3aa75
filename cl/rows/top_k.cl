/* Selects the k largest values of each row of logits (R, V): values (R, k) and ids (R, k), largest first, equal values by
 * ascending id. NaN and -inf are not selected; missing entries are (-inf, -1). Before the selection the kernel sets the
 * ids banned[offsets[r]] .. banned[offsets[r + 1] - 1] of row r to -inf in logits. A banned id may occur twice and may lie
 * outside the row. statistics (R, 4) holds { max, log(sum(exp(x - max))) } before the bans, and the same two after them;
 * if `both` is 0 the second pair is written twice. A row of -inf gives { -inf, -inf }. A NaN or +inf in a row makes the
 * logarithm NaN; max ignores NaN.
 *
 * The ranges kernels do the same for ranges of a row's columns, without bans: columns first .. end - 1 for range m of
 * ranges (R, 2 M) = { first, end, first, end ... } give values (R, M k), ids (R, M k) and statistics (R, 2 M). Ranges are
 * clipped to the row.
 *
 * No macros are needed. */
#include "include/candidates.cl"
#include "include/exp2.cl"

#define ARGUMENTS                                                                                                      \
    __global float *values, int values_offset, int values_stride, __global int *ids, int ids_offset, int ids_stride,   \
        __global float *statistics, int statistics_offset, int statistics_stride, __global float *logits,              \
        int logits_offset, int logits_stride, const __global int *banned, int banned_offset, int banned_stride,        \
        const __global int *offsets, int offsets_offset, int offsets_stride, int rows, int columns, int k,             \
        int banned_count, int both

#define RANGE_ARGUMENTS                                                                                                \
    __global float *values, int values_offset, int values_stride, __global int *ids, int ids_offset, int ids_stride,   \
        __global float *statistics, int statistics_offset, int statistics_stride, const __global float *logits,        \
        int logits_offset, int logits_stride, const __global int *ranges, int ranges_offset, int ranges_stride,        \
        int rows, int columns, int each, int k

static float row_max(const __global float *x, int columns)
{
    float16 a = (float16)(-INFINITY), b = a;
    int c = 0;
    for (; c + 32 <= columns; c += 32) {
        a = fmax16(a, vload16(0, x + c)); /* ignores NaN */
        b = fmax16(b, vload16(0, x + c + 16));
    }
    for (; c < columns; c++) {
        a = fmax16(a, (float16)(x[c]));
    }
    return max16(fmax16(a, b));
}

/* exp(x - largest); NaN stays NaN */
#define exp_below(x, largest) exp2_16(M_LOG2E_F * ((x) - (largest)))

static float row_log_sum(const __global float *x, float largest, int columns)
{
    float16 a = (float16)(0.0f), b = a;
    int c = 0;
    largest = largest == -INFINITY ? 0.0f : largest; /* the difference would be NaN */
    for (; c + 32 <= columns; c += 32) {
        a += exp_below(vload16(0, x + c), largest);
        b += exp_below(vload16(0, x + c + 16), largest);
    }
    for (; c < columns; c += 16) {
        int part = columns - c;
        a += exp_below(part < 16 ? load_part(x + c, part, -INFINITY) : vload16(0, x + c), largest);
    }
    return log(sum16(a + b));
}

/* Processes columns in ascending order, so that equal values stay in order. Nearly all blocks have no value
 * above the last candidate and are skipped after one comparison. */
static void row_top_k(__global float *values, __global int *ids, int k, const __global float *x, int columns)
{
    clear(values, ids, k);
    float last = -INFINITY;
    for (int c = 0; c < columns; c += 64) {
        int end = min(c + 64, columns);
        if (end - c == 64) {
            int16 is_above = vload16(0, x + c) > last | vload16(0, x + c + 16) > last | vload16(0, x + c + 32) > last |
                             vload16(0, x + c + 48) > last;
            if (!any(is_above.lo | is_above.hi)) {
                continue;
            }
        }
        for (int id = c; id < end; id++) {
            if (x[id] > last) {
                insert(values, ids, k, x[id], id);
                last = values[k - 1];
            }
        }
    }
}

/* A group processes whole rows; a row of logits stays in the core's second-level cache between the passes. */
CPU_KERNEL void top_k_forward_cpu(ARGUMENTS)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        __global float *x = logits + logits_offset + (size_t)r * logits_stride;
        __global float *best = values + values_offset + (size_t)r * values_stride;
        __global float *answer = statistics + statistics_offset + (size_t)r * statistics_stride;
        int first_ban = max(offsets[offsets_offset + r], 0);
        int end_ban = min(offsets[offsets_offset + r + 1], banned_count);
        int has_before = both && first_ban < end_ban;
        float largest_before = 0.0f, log_sum_before = 0.0f;
        if (has_before) {
            largest_before = row_max(x, columns);
            log_sum_before = row_log_sum(x, largest_before, columns);
        }
        for (int i = first_ban; i < end_ban; i++) {
            int id = banned[banned_offset + i];
            if (id >= 0 && id < columns) {
                x[id] = -INFINITY;
            }
        }
        row_top_k(best, ids + ids_offset + (size_t)r * ids_stride, k, x, columns);
        float largest = best[0], log_sum = row_log_sum(x, largest, columns);
        answer[0] = has_before ? largest_before : largest;
        answer[1] = has_before ? log_sum_before : log_sum;
        answer[2] = largest;
        answer[3] = log_sum;
    }
}

/* A group processes ranges one after the other. */
CPU_KERNEL void top_k_ranges_cpu(RANGE_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        size_t row = (size_t)(n / each);
        int m = n % each;
        struct range range = range_of(ranges + ranges_offset + row * ranges_stride + 2 * m, columns);
        const __global float *x = logits + logits_offset + row * logits_stride + range.first;
        __global float *best = values + values_offset + row * values_stride + m * k;
        __global int *best_ids = ids + ids_offset + row * ids_stride + m * k;
        __global float *answer = statistics + statistics_offset + row * statistics_stride + 2 * m;
        row_top_k(best, best_ids, k, x, range.count);
        for (int i = 0; i < k; i++) {
            best_ids[i] += best_ids[i] < 0 ? 0 : range.first;
        }
        answer[0] = best[0];
        answer[1] = row_log_sum(x, best[0], range.count);
    }
}

/* GPU variants: columns are assigned to work-items cyclically, so that a load of the group reads whole
 * sectors for every start of a row, which is unaligned if the number of columns is odd. A work-item has 32
 * loads in flight: with a single row, and so a single group, latency dominates. */
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

/* Loads columns at, at + GROUP ... A column outside the row is replaced by column c, which is inside, so that
 * no load depends on a branch. */
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

/* One pass over a row for both: exponentials are relative to the largest value so far, and a larger one
 * rescales the sum. Inlined early, as is group_log_sum(): later inlining leaves an alias intrinsic that
 * Oclgrind does not know. */
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

/* The k best of a row, from the best of each work-item's slice and the best of all. Repeats k times: takes
 * the best remaining value and searches its slice again. keys has GROUP entries. The ids are columns of
 * the row, plus first_id. */
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

/* Sets one banned logit per work-item to -inf; repeated ids are harmless. */
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

/* A group computes a row. shared and keys have GROUP entries each.
 *
 * Local memory is passed as parameters: PoCL 3.1 gives arrays that are declared in a kernel of this size
 * one address for all its threads, which then overwrite each other's data. */
GPU_KERNEL void top_k_forward_gpu(ARGUMENTS, __local float *shared, __local ulong *keys)
{
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        __global float *x = logits + logits_offset + (size_t)r * logits_stride;
        __global float *best_values = values + values_offset + (size_t)r * values_stride;
        __global int *best_ids = ids + ids_offset + (size_t)r * ids_stride;
        __global float *answer = statistics + statistics_offset + (size_t)r * statistics_stride;
        int first_ban = max(offsets[offsets_offset + r], 0);
        int end_ban = min(offsets[offsets_offset + r + 1], banned_count);
        int has_before = both && first_ban < end_ban;
        ulong own = 0, first = 0;
        for (int is_after = !has_before; is_after < 2; is_after++) {
            if (is_after) {
                group_ban(x, columns, banned + banned_offset, first_ban, end_ban);
            }
            struct slice slice = read_slice(x, columns);
            own = key_of(slice.best, slice.id);
            first = group_max_key(keys, own);
            float largest = value_of(first), log_sum = group_log_sum(shared, slice, largest);
            if (get_local_id(0) == 0) {
                answer[2 * is_after] = largest;
                answer[2 * is_after + 1] = log_sum;
                if (!has_before) {
                    answer[0] = largest;
                    answer[1] = log_sum;
                }
            }
        }
        group_row_top_k(keys, best_values, best_ids, k, own, first, x, columns, 0);
    }
}

/* A group processes ranges one after the other. */
GPU_KERNEL void top_k_ranges_gpu(RANGE_ARGUMENTS, __local float *shared, __local ulong *keys)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        size_t row = (size_t)(n / each);
        int m = n % each;
        struct range range = range_of(ranges + ranges_offset + row * ranges_stride + 2 * m, columns);
        const __global float *x = logits + logits_offset + row * logits_stride + range.first;
        __global float *best = values + values_offset + row * values_stride + m * k;
        __global int *best_ids = ids + ids_offset + row * ids_stride + m * k;
        __global float *answer = statistics + statistics_offset + row * statistics_stride + 2 * m;
        struct slice slice = read_slice(x, range.count);
        ulong own = key_of(slice.best, slice.id), first = group_max_key(keys, own);
        float largest = value_of(first), log_sum = group_log_sum(shared, slice, largest);
        if (get_local_id(0) == 0) {
            answer[0] = largest;
            answer[1] = log_sum;
        }
        group_row_top_k(keys, best, best_ids, k, own, first, x, range.count, range.first);
    }
}
