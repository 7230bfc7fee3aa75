/* The gradients of attention.cl. For each sequence and head, of query i and key j of it, with P the weights of the forward
 * pass and f what dropout multiplies them by (1 without):
 *
 *     dv[j] = sum_i P[i][j] f[i][j] dy[i]
 *     dS[i][j] = P[i][j] (f[i][j] dy[i] . v[j] - delta[i]),  delta[i] = dy[i] . y[i]
 *     dq[i] = scale * sum_j dS[i][j] k[j],  dk[j] = scale * sum_i dS[i][j] q[i]
 *
 * P is computed anew from q and k; where keys take more than one tile, a first look at all of them finds the maximum and
 * the sum of each query, statistics (2, heads, query_rows). A query that may look at nothing has P = 0. Shapes and masks
 * are those of attention.cl; gradients depend on nothing but their own sequence.
 *
 * Macros: KEY_WIDTH, VALUE_WIDTH (of one head); HAS_DROPOUT where the forward pass had it. */
#if !defined(KEY_WIDTH) || !defined(VALUE_WIDTH)
#error "attention_backward.cl needs KEY_WIDTH and VALUE_WIDTH"
#endif

#include "attention_blocks.cl"

#define BACKWARD_ARGUMENTS                                                                                             \
    __global float *dq, int dq_offset, int dq_stride, __global float *dk, int dk_offset, int dk_stride,                \
        __global float *dv, int dv_offset, int dv_stride, const __global float *dy, int dy_offset, int dy_stride,      \
        const __global float *q, int q_offset, int q_stride, const __global float *k, int k_offset, int k_stride,      \
        const __global float *v, int v_offset, int v_stride, const __global float *y, int y_offset, int y_stride,      \
        const __global int *spans, int spans_offset, const __global int *hidden, int hidden_offset,                    \
        const __global float *additive, int additive_offset, int additive_stride, const __global float *relative,      \
        int relative_offset, int relative_stride, int reach, __global float *statistics, int statistics_offset,        \
        int query_rows, int sequences, int heads, int max_queries, float scale, int causal COMMA_DROPOUT_ARGUMENTS

#include "attention_backward_cpu.cl"

CPU_KERNEL void attention_backward_cpu(BACKWARD_ARGUMENTS)
{
    struct backward_work work;
    for (int task = (int)get_group_id(0); task < sequences * heads; task += (int)get_num_groups(0)) {
        int sequence = task / heads, number = task % heads;
        const __global int *span = spans + spans_offset + sequence * 4;
        size_t query = (size_t)span[0], key = (size_t)span[2];
        size_t column = (size_t)number * KEY_WIDTH, value_column = (size_t)number * VALUE_WIDTH;
        struct backward_head head;
        head.dq = dq + dq_offset + query * dq_stride + column;
        head.dk = dk + dk_offset + key * dk_stride + column;
        head.dv = dv + dv_offset + key * dv_stride + value_column;
        head.dy = dy + dy_offset + query * dy_stride + value_column;
        head.q = q + q_offset + query * q_stride + column;
        head.k = k + k_offset + key * k_stride + column;
        head.v = v + v_offset + key * v_stride + value_column;
        head.y = y + y_offset + query * y_stride + value_column;
        head.dq_stride = dq_stride;
        head.dk_stride = dk_stride;
        head.dv_stride = dv_stride;
        head.dy_stride = dy_stride;
        head.q_stride = q_stride;
        head.k_stride = k_stride;
        head.v_stride = v_stride;
        head.y_stride = y_stride;
        head.hidden = hidden ? hidden + hidden_offset + key : 0;
        head.bias = relative ? relative + relative_offset + (size_t)number * relative_stride : 0;
        head.terms = additive ? additive + additive_offset + (size_t)sequence * max_queries * additive_stride : 0;
        head.reach = reach;
        head.terms_stride = additive_stride;
        head.causal = causal;
        head.maxima = statistics + statistics_offset + (size_t)number * query_rows + query;
        head.totals = head.maxima + (size_t)heads * query_rows;
        head.queries = span[1];
        head.keys = span[3];
        head.first_row = span[0];
        head.heads = heads;
        head.number = number;
        head.scale = scale;
#ifdef HAS_DROPOUT
        head.threshold = threshold;
        head.kept_scale = kept_scale;
        head.seed_low = seed_low;
        head.seed_high = seed_high;
        head.step = step;
        head.site = site;
#endif
        differentiate_head(&work, &head);
    }
}
