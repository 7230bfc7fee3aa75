/* Masks of padded scores, in place: row n = (b * heads + h) * max_queries + i, column j:
 *
 *     scores[n][j] += relative[h][clamp(j - i, -R, R) + R] + additive[b * max_queries + i][j],
 *     or -inf if query i must not see key j: beyond the keys of the sequence, later than i (causal), or hidden
 *
 * hidden, additive and relative may be null. CPU variant: a work-item computes a block of rows. GPU variant:
 * a group computes whole rows. No macros. */
#define MASK_ARGUMENTS                                                                                                 \
    __global float *scores, int scores_offset, int scores_stride, int rows, int columns, const __global int *ranges,   \
        int ranges_offset, const __global int *hidden, int hidden_offset, const __global float *additive,              \
        int additive_offset, int additive_stride, const __global float *relative, int relative_offset,                 \
        int relative_stride, int reach, int heads, int max_queries, int causal

/* The masks of row n. */
struct mask_row {
    int query, end, first_key; /* keys 0 .. end - 1 are visible except for hidden ones */
    int sequence, head;
};

static inline struct mask_row find_row(int n, const __global int *ranges, int heads, int max_queries, int causal)
{
    struct mask_row row;
    row.query = n % max_queries;
    row.head = n / max_queries % heads;
    row.sequence = n / max_queries / heads;
    const __global int *range = ranges + row.sequence * 4;
    row.first_key = range[2];
    row.end = row.query >= range[1] ? 0 : causal ? min(row.query + range[3] - range[1] + 1, range[3]) : range[3];
    return row;
}

CPU_KERNEL void mask_forward_cpu(MASK_ARGUMENTS)
{
    int block = (rows + (int)get_num_groups(0) - 1) / (int)get_num_groups(0);
    int first = (int)get_group_id(0) * block;
    for (int n = first; n < min(first + block, rows); n++) {
        struct mask_row row = find_row(n, ranges + ranges_offset, heads, max_queries, causal);
        __global float *score = scores + scores_offset + (size_t)n * scores_stride;
        int end = clamp(row.end, 0, columns);
        if (relative) {
            const __global float *bias = relative + relative_offset + (size_t)row.head * relative_stride;
            for (int j = 0; j < end; j++) {
                score[j] += bias[clamp(j - row.query + reach, 0, 2 * reach)];
            }
        }
        if (additive) {
            const __global float *term = additive + additive_offset +
                                         ((size_t)row.sequence * max_queries + row.query) * additive_stride;
            for (int j = 0; j < end; j++) {
                score[j] += term[j];
            }
        }
        if (hidden) {
            for (int j = 0; j < end; j++) {
                score[j] = hidden[hidden_offset + row.first_key + j] ? -INFINITY : score[j];
            }
        }
        for (int j = end; j < columns; j++) {
            score[j] = -INFINITY;
        }
    }
}

GPU_KERNEL void mask_forward_gpu(MASK_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        struct mask_row row = find_row(n, ranges + ranges_offset, heads, max_queries, causal);
        __global float *score = scores + scores_offset + (size_t)n * scores_stride;
        for (int j = (int)get_local_id(0); j < columns; j += GROUP) {
            if (j >= row.end || (hidden && hidden[hidden_offset + row.first_key + j])) {
                score[j] = -INFINITY;
                continue;
            }
            float sum = score[j];
            if (relative) {
                sum += relative[relative_offset + (size_t)row.head * relative_stride +
                                clamp(j - row.query + reach, 0, 2 * reach)];
            }
            if (additive) {
                sum += additive[additive_offset +
                                ((size_t)row.sequence * max_queries + row.query) * additive_stride + j];
            }
            score[j] = sum;
        }
    }
}
