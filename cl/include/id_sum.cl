/* Sums of the rows of dy (N, D) with the same id. Include file, not a program. Distinct id u has the rows
 * order[first[u]] .. order[first[u + 1] - 1], added in this order; indices outside dy are skipped. */

/* Sums columns 0 .. 15 of the rows order[i], begin <= i < end; `left` >= 1 of these columns exist. */
#define id_sum16(dy, stride, rows, order, begin, end, left)                                                            \
    (wide_id_sum(dy, stride, rows, order, begin, end, left).v)
static struct wide wide_id_sum(const __global float *dy, int stride, int rows, const __global int *order,
                               int begin, int end, int left)
{
    float16 sum = (float16)(0.0f);
    for (int i = begin; i < end; i++) {
        int n = order[i];
        if (n >= 0 && n < rows) {
            const __global float *row = dy + (size_t)n * stride;
            sum += left >= 16 ? vload16(0, row) : load_part(row, left, 0.0f);
        }
    }
    return WIDE(sum);
}

/* Like id_sum16(), for four columns. */
static float4 id_sum4(const __global float *dy, int stride, int rows, const __global int *order, int begin, int end,
                      int left)
{
    float4 sum = 0.0f;
    for (int i = begin; i < end; i++) {
        int n = order[i];
        if (n >= 0 && n < rows) {
            sum += load_quad(dy + (size_t)n * stride, left, 0.0f);
        }
    }
    return sum;
}
