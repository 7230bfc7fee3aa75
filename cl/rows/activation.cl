/* y = activation(x), and y = activation(x) * gate: all (N, F); y may be x or gate. The gradients: dx = dy *
 * activation'(x); dx = dy * gate * activation'(x) with dgate = dy * activation(x); lib/math/ops/activation.h lists
 * the permitted aliases.
 *
 * CPU variants: a group computes whole rows. GPU variants: a group computes a row; work-item i computes columns 4i ..
 * 4i + 3 of every QUADS columns.
 *
 * Macro: ACTIVATION, the kind (see the prelude). */
#ifndef ACTIVATION
#error "ACTIVATION: a value of enum clf__activation"
#endif

/* SLOPE(T, v) replaces the variable v of type T with activation'(v); NaN stays NaN, except for ReLU. v is clamped
 * at large magnitudes, where a factor would overflow and the slope is 0 or 1. */
#define CLAMPED(T, v, limit) ((v) > (T)(limit) ? (T)(limit) : (v) < (T)(-limit) ? (T)(-limit) : (v))
#if ACTIVATION == 0
#define SLOPE(T, v) v = (T)(1.0f);
#elif ACTIVATION == 1
#define SLOPE(T, v) v = v <= (T)(0.0f) ? (T)(0.0f) : (T)(1.0f);
#elif ACTIVATION == 2 /* Φ(v) + v φ(v) */
#define SLOPE(T, v)                                                                                                    \
    v = CLAMPED(T, v, 16.0f);                                                                                          \
    NORMAL_TAIL(T, v, x, tail)                                                                                         \
    v = fma_##T(0.398942280f * v, exp_##T(-0.5f * v * v), v < (T)(0.0f) ? tail : 1.0f - tail);
#elif ACTIVATION == 3 /* derivative of v s, s = 1 / (1 + e), e = exp(-2u): s + 2u' v e s² */
#define SLOPE(T, v)                                                                                                    \
    v = CLAMPED(T, v, 10.0f);                                                                                          \
    T square = v * v;                                                                                                  \
    T e = exp_##T(-1.59576912f * v * fma_##T((T)(0.044715f), square, (T)(1.0f)));                                      \
    T s = 1.0f / (1.0f + e);                                                                                           \
    v = fma_##T(1.59576912f * v * fma_##T((T)(0.134145f), square, (T)(1.0f)), e * s * s, s);
#elif ACTIVATION == 4 /* likewise with e = exp(-v) */
#define SLOPE(T, v)                                                                                                    \
    v = CLAMPED(T, v, 80.0f);                                                                                          \
    T e = exp_##T(-v);                                                                                                 \
    T s = 1.0f / (1.0f + e);                                                                                           \
    v = fma_##T(v, e * s * s, s);
#endif
static inline float slope(float v)
{
    SLOPE(float, v)
    return v;
}

#define slope16(value) (wide_slope(WIDE(value)).v)
static inline struct wide wide_slope(struct wide value)
{
    float16 v = value.v;
    SLOPE(float16, v)
    return WIDE(v);
}

static inline float4 slope4(float4 v)
{
    return (float4)(slope(v.x), slope(v.y), slope(v.z), slope(v.w));
}

CPU_KERNEL void activation_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                       int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(activate16(vload16(0, in + c)), 0, out + c);
        }
        if (c < columns) {
            store_part(activate16(load_part(in + c, columns - c, 0.0f)), out + c, columns - c);
        }
    }
}

CPU_KERNEL void gate_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                 int x_stride, const __global float *gate, int gate_offset, int gate_stride, int rows,
                                 int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(activate16(vload16(0, in + c)) * vload16(0, factor + c), 0, out + c);
        }
        if (c < columns) {
            int part = columns - c;
            store_part(activate16(load_part(in + c, part, 0.0f)) * load_part(factor + c, part, 0.0f), out + c, part);
        }
    }
}

GPU_KERNEL void activation_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                       int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            store_quad(activate4(load_quad(in + c, columns - c, 0.0f)), out + c, columns - c);
        }
    }
}

GPU_KERNEL void gate_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                 int x_stride, const __global float *gate, int gate_offset, int gate_stride, int rows,
                                 int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            float4 value = activate4(load_quad(in + c, columns - c, 0.0f));
            store_quad(value * load_quad(factor + c, columns - c, 0.0f), out + c, columns - c);
        }
    }
}

CPU_KERNEL void activation_backward_cpu(__global float *dx, int dx_offset, int dx_stride, const __global float *dy,
                                        int dy_offset, int dy_stride, const __global float *x, int x_offset,
                                        int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)n * dx_stride;
        const __global float *grad = dy + dy_offset + (size_t)n * dy_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(vload16(0, grad + c) * slope16(vload16(0, in + c)), 0, out + c);
        }
        if (c < columns) {
            int part = columns - c;
            store_part(load_part(grad + c, part, 0.0f) * slope16(load_part(in + c, part, 0.0f)), out + c, part);
        }
    }
}

#define GATE_BACKWARD_ARGUMENTS                                                                                        \
    __global float *dx, int dx_offset, int dx_stride, __global float *dgate, int dgate_offset, int dgate_stride,       \
        const __global float *dy, int dy_offset, int dy_stride, const __global float *x, int x_offset, int x_stride,   \
        const __global float *gate, int gate_offset, int gate_stride, int rows, int columns

CPU_KERNEL void gate_backward_cpu(GATE_BACKWARD_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)n * dx_stride;
        __global float *gate_out = dgate + dgate_offset + (size_t)n * dgate_stride;
        const __global float *grad = dy + dy_offset + (size_t)n * dy_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        for (int c = 0; c < columns; c += 16) {
            int left = columns - c;
            if (left >= 16) {
                float16 d = vload16(0, grad + c), v = vload16(0, in + c), g = vload16(0, factor + c);
                vstore16(d * g * slope16(v), 0, out + c);
                vstore16(d * activate16(v), 0, gate_out + c);
            } else {
                float16 d = load_part(grad + c, left, 0.0f), v = load_part(in + c, left, 0.0f);
                float16 g = load_part(factor + c, left, 0.0f);
                store_part(d * g * slope16(v), out + c, left);
                store_part(d * activate16(v), gate_out + c, left);
            }
        }
    }
}

GPU_KERNEL void activation_backward_gpu(__global float *dx, int dx_offset, int dx_stride, const __global float *dy,
                                        int dy_offset, int dy_stride, const __global float *x, int x_offset,
                                        int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)n * dx_stride;
        const __global float *grad = dy + dy_offset + (size_t)n * dy_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            float4 value = slope4(load_quad(in + c, columns - c, 0.0f));
            store_quad(load_quad(grad + c, columns - c, 0.0f) * value, out + c, columns - c);
        }
    }
}

GPU_KERNEL void gate_backward_gpu(GATE_BACKWARD_ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = dx + dx_offset + (size_t)n * dx_stride;
        __global float *gate_out = dgate + dgate_offset + (size_t)n * dgate_stride;
        const __global float *grad = dy + dy_offset + (size_t)n * dy_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            int left = columns - c;
            float4 d = load_quad(grad + c, left, 0.0f), v = load_quad(in + c, left, 0.0f);
            float4 g = load_quad(factor + c, left, 0.0f);
            store_quad(d * g * slope4(v), out + c, left);
            store_quad(d * activate4(v), gate_out + c, left);
        }
    }
}
