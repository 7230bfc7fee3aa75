/* Selects the k largest values of each row of logits (R, V): values (R, k) and ids (R, k), largest first, ties by
 * ascending id. NaN and -inf are not selected; missing entries are (-inf, -1). Before the selection the kernel sets
 * the ids banned[offsets[r]] .. banned[offsets[r + 1] - 1] of row r to -inf in logits. A banned id may occur twice
 * and may be outside the row. statistics (R, 4) holds { max, log(sum(exp(x - max))) } before the bans, and the same
 * two after them; if `both` is 0 the second pair is written twice. A row of -inf gives { -inf, -inf }. A NaN or +inf
 * in a row makes the logarithm NaN; max ignores NaN.
 *
 * The ranges kernels do the same for ranges of a row's columns, without bans: columns first .. end - 1 for range m of
 * ranges (R, 2 M) = { first, end, first, end ... } give values (R, M k), ids (R, M k) and statistics (R, 2 M). Ranges are
 * clipped to the row.
 *
 * No macros. */
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

/* Processes columns in ascending order, to keep ties in order. Nearly all blocks have no value above the last
 * candidate and are skipped after one comparison. */
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

/* A group processes one range at a time. */
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

#include "include/top_k_gpu.cl"

/* A group computes a row. shared and keys have GROUP entries each.
 *
 * Local memory is passed as parameters: PoCL 3.1 gives arrays declared in a kernel of this size one address for
 * all threads, which then overwrite each other's data. */
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

/* A group processes one range at a time. */
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
