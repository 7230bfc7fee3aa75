/* Softmax and its logarithm over rows: y (N, C) of x (N, C), y may be x.
 *
 * CPU variants: a group computes one whole row at a time; a row stays in the core's cache between the passes. GPU
 * variants: a group computes a row; work-item i computes columns 4i .. 4i + 3 of every QUADS columns. No macros. */

/* Returns the number to subtract from a row before exp: the largest value, or 0 if the row has only -inf (the
 * difference would be NaN). NaN is never the largest value; it propagates through the sum to the whole row. */
static float offset_of(float largest)
{
    return largest == -INFINITY ? 0.0f : largest;
}

/* Returns log(sum), but keeps a row of -inf at -inf. */
static float log_of(float sum)
{
    return sum == 0.0f ? 0.0f : log(sum);
}

static float row_max(const __global float *x, int columns)
{
    float16 a = (float16)(-INFINITY), b = a;
    int c = 0;
    for (; c + 32 <= columns; c += 32) {
        a = fmax16(a, vload16(0, x + c));
        b = fmax16(b, vload16(0, x + c + 16));
    }
    for (; c < columns; c += 16) {
        a = fmax16(a, columns - c < 16 ? load_part(x + c, columns - c, -INFINITY) : vload16(0, x + c));
    }
    return max16(fmax16(a, b));
}

/* Returns the sum over c of exp(x[c] - largest). */
static float row_exp_sum(const __global float *x, float largest, int columns)
{
    float16 a = (float16)(0.0f), b = a;
    int c = 0;
    for (; c + 32 <= columns; c += 32) {
        a += exp16(vload16(0, x + c) - largest);
        b += exp16(vload16(0, x + c + 16) - largest);
    }
    for (; c < columns; c += 16) {
        a += exp16((columns - c < 16 ? load_part(x + c, columns - c, -INFINITY) : vload16(0, x + c)) - largest);
    }
    return sum16(a + b);
}

/* y[c] = exp(x[c] - largest); returns the sum. Each exp is computed once. */
static float row_exp(__global float *y, const __global float *x, float largest, int columns)
{
    float16 sum = (float16)(0.0f);
    int c = 0;
    for (; c + 16 <= columns; c += 16) {
        float16 e = exp16(vload16(0, x + c) - largest);
        vstore16(e, 0, y + c);
        sum += e;
    }
    if (c < columns) {
        float16 e = exp16(load_part(x + c, columns - c, -INFINITY) - largest);
        store_part(e, y + c, columns - c);
        sum += e;
    }
    return sum16(sum);
}

/* y[n] = exp(x[n] - max) / sum; zeros if all elements of x[n] are -inf. */
CPU_KERNEL void softmax_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                    int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float sum = row_exp(out, in, offset_of(row_max(in, columns)), columns);
        float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(vload16(0, out + c) * factor, 0, out + c);
        }
        for (; c < columns; c++) {
            out[c] *= factor;
        }
    }
}

/* y[n] = (x[n] - max) - log(sum of exp(x[n] - max)); -inf everywhere if all elements of x[n] are. */
CPU_KERNEL void log_softmax_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                        int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float largest = offset_of(row_max(in, columns));
        float log_sum = log_of(row_exp_sum(in, largest, columns));
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16((vload16(0, in + c) - largest) - log_sum, 0, out + c);
        }
        for (; c < columns; c++) {
            out[c] = (in[c] - largest) - log_sum;
        }
    }
}

/* picked (1, N): picked[n] = log_softmax(x[n])[targets[n]]; -inf for a target outside the columns. */
CPU_KERNEL void log_softmax_pick_cpu(__global float *picked, int picked_offset, int picked_stride,
                                     const __global float *x, int x_offset, int x_stride,
                                     const __global int *targets, int targets_offset, int targets_stride,
                                     int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int target = targets[targets_offset + n];
        float answer = -INFINITY;
        if (target >= 0 && target < columns) {
            float largest = offset_of(row_max(in, columns));
            answer = (in[target] - largest) - log_of(row_exp_sum(in, largest, columns));
        }
        picked[picked_offset + n] = answer;
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

static float group_row_exp_sum(__local float *shared, const __global float *x, float largest, int columns)
{
    float4 sums = 0.0f;
    for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
        sums += exp(load_quad(x + c, columns - c, -INFINITY) - largest);
    }
    return group_sum(shared, sum4(sums));
}

GPU_KERNEL void softmax_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                    int x_offset, int x_stride, int rows, int columns)
{
    __local float shared[GROUP];
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float largest = offset_of(group_row_max(shared, in, columns));
        float4 sums = 0.0f;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            float4 e = exp(load_quad(in + c, columns - c, -INFINITY) - largest);
            store_quad(e, out + c, columns - c);
            sums += e;
        }
        float sum = group_sum(shared, sum4(sums));
        float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            store_quad(load_quad(out + c, columns - c, 0.0f) * factor, out + c, columns - c);
        }
    }
}

GPU_KERNEL void log_softmax_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                        int x_offset, int x_stride, int rows, int columns)
{
    __local float shared[GROUP];
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float largest = offset_of(group_row_max(shared, in, columns));
        float log_sum = log_of(group_row_exp_sum(shared, in, largest, columns));
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            store_quad((load_quad(in + c, columns - c, 0.0f) - largest) - log_sum, out + c, columns - c);
        }
    }
}

GPU_KERNEL void log_softmax_pick_gpu(__global float *picked, int picked_offset, int picked_stride,
                                     const __global float *x, int x_offset, int x_stride,
                                     const __global int *targets, int targets_offset, int targets_stride,
                                     int rows, int columns)
{
    __local float shared[GROUP];
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int target = targets[targets_offset + n];
        float largest = offset_of(group_row_max(shared, in, columns));
        float log_sum = log_of(group_row_exp_sum(shared, in, largest, columns));
        if (get_local_id(0) == 0) {
            int is_known = target >= 0 && target < columns;
            picked[picked_offset + n] = is_known ? (in[target] - largest) - log_sum : -INFINITY;
        }
    }
}
