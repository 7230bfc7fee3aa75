/* The k best of each row of logits (R, V): values (R, k) and ids (R, k), largest first, equal values by ascending id,
 * (-inf, -1) where there are no more; NaN counts as -inf. Before that the ids banned[offsets[r]] ..
 * banned[offsets[r + 1] - 1] of row r are set to -inf in logits; a banned id may come twice and may be no column.
 * statistics (R, 4) = { max, log of the sum of exp(x - max) } over the row as it came, then over what is left, or only
 * the latter twice where `both` is 0. A row without a number has { -inf, -inf }.
 *
 * And of ranges of a row's columns: columns first .. end - 1 of range m, ranges (R, 2 M) = { first, end, first, end ... },
 * have values (R, M k), ids (R, M k) and statistics (R, 2 M) of their own, each of these the last two of the above. What a
 * range has beyond the row is left out.
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
        a = fmax16(a, vload16(0, x + c)); /* passes NaN over */
        b = fmax16(b, vload16(0, x + c + 16));
    }
    for (; c < columns; c++) {
        a = fmax16(a, (float16)(x[c]));
    }
    return max16(fmax16(a, b));
}

/* exp(x - largest), 0 for NaN */
#define exp_below(x, largest) exp2_16(M_LOG2E_F * (fmax16(x, (float16)(-INFINITY)) - (largest)))

static float row_log_sum(const __global float *x, float largest, int columns)
{
    if (largest == -INFINITY) {
        return -INFINITY;
    }
    float16 a = (float16)(0.0f), b = a;
    int c = 0;
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

/* In ascending ids, so that of equal values the first one stays ahead. Nearly all blocks hold nothing that beats the
 * last candidate, and are passed over with one comparison. */
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

/* A group takes whole rows; a row of logits stays in its core's second cache between the passes. */
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

/* A group takes ranges one after the other. */
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

static float group_row_max(__local float *shared, const __global float *x, int columns)
{
    float4 largest = -INFINITY;
    for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
        largest = fmax(largest, load_quad(x + c, columns - c, -INFINITY));
    }
    return group_max(shared, max4(largest));
}

static float group_row_log_sum(__local float *shared, const __global float *x, float largest, int columns)
{
    float4 sums = 0.0f;
    for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
        sums += exp(fmax(load_quad(x + c, columns - c, -INFINITY), -INFINITY) - largest);
    }
    float sum = group_sum(shared, sum4(sums));
    return largest == -INFINITY ? -INFINITY : log(sum);
}

/* The columns of a row are dealt to the work-items by fours: which has a column. */
static int slice_of(int column)
{
    return column / 4 % GROUP;
}

/* The best of four columns from c on, of which those beyond the row are -inf. */
static ulong first_of_quad(float4 v, int c)
{
    return max(max(key_of(v.x, c), key_of(v.y, c + 1)), max(key_of(v.z, c + 2), key_of(v.w, c + 3)));
}

static ulong first_of_slice(const __global float *x, int columns)
{
    ulong first = 0;
    for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
        first = max(first, first_of_quad(load_quad(x + c, columns - c, -INFINITY), c));
    }
    return first;
}

/* What comes after a candidate in its slice: the group searches that slice together. */
static ulong next_of_slice(__local ulong *shared, const __global float *x, int columns, ulong last)
{
    ulong next = 0;
    for (int c = slice_of(id_of(last)) * 4 + QUADS * (int)get_local_id(0); c < columns; c += QUADS * GROUP) {
        float4 v = load_quad(x + c, columns - c, -INFINITY);
        ulong x_key = key_of(v.x, c), y_key = key_of(v.y, c + 1), z_key = key_of(v.z, c + 2), w_key = key_of(v.w, c + 3);
        next = x_key < last ? max(next, x_key) : next;
        next = y_key < last ? max(next, y_key) : next;
        next = z_key < last ? max(next, z_key) : next;
        next = w_key < last ? max(next, w_key) : next;
    }
    return group_max_key(shared, next);
}

/* The k best of a row, of which the first is returned. Each work-item holds the best of its slice that is not taken yet; k
 * times the best of these is taken, and the slice that it comes from is searched again. keys holds GROUP. The ids are
 * columns of the row, and first_id more. */
static float group_row_top_k(__local ulong *keys, __global float *values, __global int *ids, int k,
                             const __global float *x, int columns, int first_id)
{
    int item = (int)get_local_id(0);
    ulong own = first_of_slice(x, columns);
    float largest = -INFINITY;
    for (int i = 0; i < k; i++) {
        ulong first = group_max_key(keys, own);
        float value = first ? x[id_of(first)] : -INFINITY;
        if (item == 0) {
            values[i] = value;
            ids[i] = first ? first_id + id_of(first) : -1;
        }
        largest = i == 0 ? value : largest;
        if (first && i + 1 < k) {
            ulong next = next_of_slice(keys, x, columns, first);
            own = slice_of(id_of(first)) == item ? next : own;
        }
    }
    return largest;
}

/* A group takes a row. shared and keys hold GROUP each.
 *
 * Local memory comes as parameters: PoCL 3.1 leaves arrays that a kernel of this size declares itself in one place for
 * all its threads, which then overwrite each other's. */
GPU_KERNEL void top_k_forward_gpu(ARGUMENTS, __local float *shared, __local ulong *keys)
{
    int item = (int)get_local_id(0);
    for (int r = (int)get_group_id(0); r < rows; r += (int)get_num_groups(0)) {
        __global float *x = logits + logits_offset + (size_t)r * logits_stride;
        __global float *best_values = values + values_offset + (size_t)r * values_stride;
        __global int *best_ids = ids + ids_offset + (size_t)r * ids_stride;
        __global float *answer = statistics + statistics_offset + (size_t)r * statistics_stride;
        int first_ban = max(offsets[offsets_offset + r], 0);
        int end_ban = min(offsets[offsets_offset + r + 1], banned_count);
        int has_before = both && first_ban < end_ban;
        float largest_before = 0.0f, log_sum_before = 0.0f;
        if (has_before) {
            largest_before = group_row_max(shared, x, columns);
            log_sum_before = group_row_log_sum(shared, x, largest_before, columns);
        }
        for (int i = first_ban; i < end_ban; i++) {
            int id = banned[banned_offset + i];
            if (id >= 0 && id < columns && slice_of(id) == item) { /* each work-item its own slice: no two write one */
                x[id] = -INFINITY;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        float largest = group_row_top_k(keys, best_values, best_ids, k, x, columns, 0);
        float log_sum = group_row_log_sum(shared, x, largest, columns);
        if (item == 0) {
            answer[0] = has_before ? largest_before : largest;
            answer[1] = has_before ? log_sum_before : log_sum;
            answer[2] = largest;
            answer[3] = log_sum;
        }
    }
}

/* A group takes ranges one after the other. */
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
        float largest = group_row_top_k(keys, best, best_ids, k, x, range.count, range.first);
        float log_sum = group_row_log_sum(shared, x, largest, range.count);
        if (get_local_id(0) == 0) {
            answer[0] = largest;
            answer[1] = log_sum;
        }
    }
}
