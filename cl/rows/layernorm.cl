/* Normalisation of rows: y (N, D) of x (N, D) with gamma (1, D) and beta (1, D); y may be x. rounded (N,
 * D) is y in bf16, or with RESULT_PRECISION as in result.cl, or with QUANTIZED (GPU variant) rows of
 * quantize.cl, whose stride counts 16 bits. y or rounded may be null.
 *
 *   NORM 0: y = (x - mean) / sqrt(var + eps) * gamma + beta, var = mean of (x - mean)^2
 *   NORM 1: y = x / sqrt(mean of x^2 + eps) * gamma
 *   NORM 2: y = gamma * (x - mean) / (std + eps) + beta, std^2 = sum of (x - mean)^2 / (D - 1)
 *
 * CPU variant: a group computes whole rows. GPU variant: a group computes a row. norm_row.cl describes the macros NORM,
 * HAS_BETA and HELD. */
#include "include/norm_row.cl"

#define FORWARD_ARGUMENTS                                                                                              \
    __global float *y, int y_offset, int y_stride, __global ushort *rounded, int rounded_offset, int rounded_stride,   \
        const __global float *x, int x_offset, int x_stride, const __global float *gamma, int gamma_offset,            \
        int gamma_stride, const __global float *beta, int beta_offset, int beta_stride, int rows, int columns, float eps

CPU_KERNEL void layernorm_forward_cpu(FORWARD_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        norm_row(y ? y + y_offset + (size_t)n * y_stride : 0,
                 rounded ? rounded + rounded_offset + (size_t)n * rounded_stride : 0,
                 x + x_offset + (size_t)n * x_stride, gamma + gamma_offset, beta + beta_offset, columns, eps);
    }
}

GPU_KERNEL void layernorm_forward_gpu(FORWARD_ARGUMENTS)
{
    __local float2 shared[NORM_SHARED / 2];
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y ? y + y_offset + (size_t)n * y_stride : 0;
        __global ushort *operands = rounded ? rounded + rounded_offset + (size_t)n * rounded_stride : 0;
        const struct norm_row row = row_of(out, operands, rounded_stride);
        norm_row_gpu((__local float *)shared, &row, x + x_offset + (size_t)n * x_stride, gamma + gamma_offset,
                     beta + beta_offset, columns, eps);
    }
}

/* The gradients, with the normalised row n = (x - mean) * r, r the result of scale_of(), and g = dy * gamma:
 *
 *   dx = r * (g - mean of g - n * (sum of g * n) * f), with the mean of g only if the norm subtracts the mean from x
 *   dgamma += sum over rows of dy * n, dbeta += sum over rows of dy
 *
 * NORM 0 and 1: f = 1 / D. NORM 2, where r is not just 1 / std: f = 1 / ((D - 1) * std * r).
 *
 * A group computes chunk k of chunk_rows rows, and stores its sums for dgamma at sums[k] and for dbeta at
 * sums[k] + D: sums (chunks, 2 D); chunks.cl adds them. dx may be dy. CPU variant: a row and the sums stay
 * in the first-level cache. GPU variant: each column of the sums belongs to one work-item. */
static float projection_of(float squares, int columns, float scale)
{
#if NORM == 2
    float degrees = (float)max(columns - 1, 1);
    float std = sqrt(squares / degrees);
    return std == 0.0f ? 0.0f : 1.0f / (degrees * std * scale); /* a constant row equals its mean, and n is
                                                                 * 0 */
#else
    return 1.0f / (float)columns;
#endif
}

#define IS_CENTRED (NORM != 1)

#define BACKWARD_ARGUMENTS                                                                                             \
    __global float *dx, int dx_offset, int dx_stride, const __global float *dy, int dy_offset, int dy_stride,          \
        const __global float *x, int x_offset, int x_stride, const __global float *gamma, int gamma_offset,            \
        __global float *sums, int sums_offset, int rows, int columns, int chunk_rows, float eps

static inline void backward_row(__global float *out, const __global float *grad, const __global float *in,
                                const __global float *gamma, __global float *dgamma, __global float *dbeta, int columns,
                                float eps)
{
    float mean = IS_CENTRED ? row_mean(in, columns) : 0.0f;
    float squares = row_squares(in, mean, columns);
    float scale = scale_of(squares, columns, eps);
    float16 sum = (float16)(0.0f), product = sum;
    int i = 0;
    for (; i + 16 <= columns; i += 16) {
        float16 d = vload16(0, grad + i), normal = (vload16(0, in + i) - mean) * scale;
        float16 g = d * vload16(0, gamma + i);
        sum += g;
        product = fma16(g, normal, product);
        vstore16(fma16(d, normal, vload16(0, dgamma + i)), 0, dgamma + i);
#ifdef HAS_BETA
        vstore16(vload16(0, dbeta + i) + d, 0, dbeta + i);
#endif
    }
    int left = columns - i;
    if (left > 0) {
        float16 d = load_part(grad + i, left, 0.0f), normal = (load_part(in + i, left, mean) - mean) * scale;
        float16 g = d * load_part(gamma + i, left, 0.0f);
        sum += g;
        product = fma16(g, normal, product);
        store_part(fma16(d, normal, load_part(dgamma + i, left, 0.0f)), dgamma + i, left);
#ifdef HAS_BETA
        store_part(load_part(dbeta + i, left, 0.0f) + d, dbeta + i, left);
#endif
    }
    float middle = IS_CENTRED ? sum16(sum) / (float)columns : 0.0f;
    float along = sum16(product) * projection_of(squares, columns, scale);
    for (i = 0; i + 16 <= columns; i += 16) {
        float16 normal = (vload16(0, in + i) - mean) * scale;
        float16 g = vload16(0, grad + i) * vload16(0, gamma + i);
        vstore16((g - middle - normal * along) * scale, 0, out + i);
    }
    for (; i < columns; i++) {
        float normal = (in[i] - mean) * scale;
        out[i] = (grad[i] * gamma[i] - middle - normal * along) * scale;
    }
}

CPU_KERNEL void layernorm_backward_cpu(BACKWARD_ARGUMENTS)
{
    int chunk = (int)get_group_id(0);
    int last = min((chunk + 1) * chunk_rows, rows);
    __global float *dgamma = sums + sums_offset + (size_t)chunk * 2 * columns, *dbeta = dgamma + columns;
    for (int i = 0; i < 2 * columns; i++) {
        dgamma[i] = 0.0f;
    }
    for (int n = chunk * chunk_rows; n < last; n++) {
        backward_row(dx + dx_offset + (size_t)n * dx_stride, dy + dy_offset + (size_t)n * dy_stride,
                     x + x_offset + (size_t)n * x_stride, gamma + gamma_offset, dgamma, dbeta, columns, eps);
    }
}

GPU_KERNEL void layernorm_backward_gpu(BACKWARD_ARGUMENTS)
{
    __local float shared[GROUP];
    int chunk = (int)get_group_id(0), first = (int)get_local_id(0) * 4;
    int last = min((chunk + 1) * chunk_rows, rows);
    __global float *dgamma = sums + sums_offset + (size_t)chunk * 2 * columns, *dbeta = dgamma + columns;
    for (int c = first; c < columns; c += QUADS) {
        store_quad(0.0f, dgamma + c, columns - c);
        store_quad(0.0f, dbeta + c, columns - c);
    }
    for (int n = chunk * chunk_rows; n < last; n++) {
        __global float *out = dx + dx_offset + (size_t)n * dx_stride;
        const __global float *grad = dy + dy_offset + (size_t)n * dy_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        float4 squares = 0.0f, sum = 0.0f, product = 0.0f;
        for (int c = first; IS_CENTRED && c < columns; c += QUADS) {
            sum += load_quad(in + c, columns - c, 0.0f);
        }
        float mean = IS_CENTRED ? group_sum(shared, sum4(sum)) / (float)columns : 0.0f;
        sum = 0.0f;
        for (int c = first; c < columns; c += QUADS) {
            float4 p = load_quad(in + c, columns - c, mean) - mean;
            squares = fma(p, p, squares);
        }
        float square_sum = group_sum(shared, sum4(squares));
        float scale = scale_of(square_sum, columns, eps);
        for (int c = first; c < columns; c += QUADS) {
            int left = columns - c;
            float4 d = load_quad(grad + c, left, 0.0f), normal = (load_quad(in + c, left, mean) - mean) * scale;
            float4 g = d * load_quad(gamma + gamma_offset + c, left, 0.0f);
            sum += g;
            product = fma(g, normal, product);
            store_quad(fma(d, normal, load_quad(dgamma + c, left, 0.0f)), dgamma + c, left);
#ifdef HAS_BETA
            store_quad(load_quad(dbeta + c, left, 0.0f) + d, dbeta + c, left);
#endif
        }
        float middle = IS_CENTRED ? group_sum(shared, sum4(sum)) / (float)columns : 0.0f;
        float along = group_sum(shared, sum4(product)) * projection_of(square_sum, columns, scale);
        for (int c = first; c < columns; c += QUADS) {
            int left = columns - c;
            float4 normal = (load_quad(in + c, left, mean) - mean) * scale;
            float4 g = load_quad(grad + c, left, 0.0f) * load_quad(gamma + gamma_offset + c, left, 0.0f);
            store_quad((g - middle - normal * along) * scale, out + c, left);
        }
    }
}
