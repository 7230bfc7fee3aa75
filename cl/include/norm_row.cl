/* Normalises one row, for layernorm.cl and the decoder layers; layernorm.cl describes NORM and the formulas. Include
 * file, not a program.
 *
 * The squares are computed after the mean, because otherwise a row far from zero would lose digits. CPU variant: a
 * group computes whole rows; a row stays in the first-level cache between the passes. GPU variant: a group computes a
 * row; work-item i computes columns 4i .. 4i + 3 of every QUADS columns.
 *
 * Macros: NORM; HAS_BETA if there is a beta (its buffer is null otherwise); HELD (GPU variant, optional): the
 * number of quads of a row that a work-item holds in registers. */
#include "include/bf16.cl"
#ifdef RESULT_PRECISION
#define OPERAND_PRECISION RESULT_PRECISION
#else
#define OPERAND_PRECISION 2
#endif
#include "include/operand16.cl"
#ifdef QUANTIZED
#include "include/operand_int8.cl"
#define NORM_SHARED (2 * GROUP) /* floats of local memory */
#else
#define NORM_SHARED GROUP
#endif

#ifndef NORM
#error "NORM: 0 (layer), 1 (RMS) or 2 (std)"
#endif

/* Returns the factor that normalises a centred row. */
static float scale_of(float squares, int columns, float eps)
{
#if NORM == 2
    return 1.0f / (sqrt(squares / (float)max(columns - 1, 1)) + eps);
#else
    return 1.0f / sqrt(squares / (float)columns + eps);
#endif
}

#ifdef HAS_BETA
#define BETA(T, load) (load)
#else
#define BETA(T, load) ((T)(0.0f))
#endif

static float row_mean(const __global float *x, int columns)
{
    float16 a = (float16)(0.0f), b = a, c = a, d = a;
    int i = 0;
    for (; i + 64 <= columns; i += 64) {
        a += vload16(0, x + i);
        b += vload16(0, x + i + 16);
        c += vload16(0, x + i + 32);
        d += vload16(0, x + i + 48);
    }
    for (; i + 16 <= columns; i += 16) {
        a += vload16(0, x + i);
    }
    b += load_part(x + i, columns - i, 0.0f);
    return sum16((a + b) + (c + d)) / (float)columns;
}

/* sum over i of (x[i] - mean)^2 */
static float row_squares(const __global float *x, float mean, int columns)
{
    float16 a = (float16)(0.0f), b = a, c = a, d = a;
    int i = 0;
    for (; i + 64 <= columns; i += 64) {
        float16 p = vload16(0, x + i) - mean, q = vload16(0, x + i + 16) - mean;
        float16 r = vload16(0, x + i + 32) - mean, s = vload16(0, x + i + 48) - mean;
        a = fma16(p, p, a);
        b = fma16(q, q, b);
        c = fma16(r, r, c);
        d = fma16(s, s, d);
    }
    for (; i + 16 <= columns; i += 16) {
        float16 p = vload16(0, x + i) - mean;
        a = fma16(p, p, a);
    }
    float16 p = load_part(x + i, columns - i, mean) - mean; /* missing columns add nothing */
    b = fma16(p, p, b);
    return sum16((a + b) + (c + d));
}

static inline void norm_row(__global float *out, __global ushort *rounded, const __global float *in,
                            const __global float *gamma, const __global float *beta, int columns, float eps)
{
#if NORM == 1
    float mean = 0.0f;
#else
    float mean = row_mean(in, columns);
#endif
    float scale = scale_of(row_squares(in, mean, columns), columns, eps);
    int i = 0;
    for (; i + 16 <= columns; i += 16) {
        float16 normal = (vload16(0, in + i) - mean) * scale;
        float16 value = fma16(normal, vload16(0, gamma + i), BETA(float16, vload16(0, beta + i)));
        if (out) {
            vstore16(value, 0, out + i);
        }
        if (rounded) {
            store_bf16_16(value, rounded + i);
        }
    }
    for (; i < columns; i++) {
        float value = fma((in[i] - mean) * scale, gamma[i], BETA(float, beta[i]));
        if (out) {
            out[i] = value;
        }
        if (rounded) {
            rounded[i] = (ushort)(round_bf16(value) >> 16);
        }
    }
}

/* The output of the GPU variant: floats, operands that end before operands_end, or both. */
struct norm_row {
    __global float *out;
    __global ushort *operands, *operands_end;
};

static inline struct norm_row row_of(__global float *out, __global ushort *operands, int stride)
{
    return (struct norm_row){out, operands, operands ? operands + stride : 0};
}

/* Stores the quad at a column, of which `left` elements belong to the row; in int8 only the floats. */
static inline void store_normal(float4 value, const struct norm_row *row, int column, int left)
{
    if (row->out) {
        store_quad(value, row->out + column, left);
    }
#ifndef QUANTIZED
    if (row->operands) {
        store_operand_quad(value, row->operands + column, left);
    }
#endif
}

#ifdef QUANTIZED
static inline void store_quantized(float4 value, const struct norm_row *row, int column, int left,
                                   const struct row_scale *by)
{
    if (row->operands) {
        store_quantized_quad(value, (__global uchar *)row->operands + column, left, by);
    }
}

static inline void end_quantized(const struct norm_row *row, const struct row_scale *by)
{
    if (row->operands && GROUP_ITEM == 0) {
        store_row_scale((__global uchar *)row->operands_end, by);
    }
}
#endif

#ifdef HELD
/* Computes a row of up to HELD * QUADS columns, of which a work-item holds HELD quads: all loads are
 * issued first, because latency dominates the few rows of a decoding step. shared: NORM_SHARED. */
static inline void norm_row_gpu(__local float *shared, const struct norm_row *row, const FRESH __global float *in,
                                const __global float *gamma, const __global float *beta, int columns, float eps)
{
    int first = GROUP_ITEM * 4, left = columns - first;
    in += first;
    gamma += first;
    beta += first;
    float4 values[HELD], factors[HELD], shifts[HELD], squares = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int is_there = left > i * QUADS;
        values[i] = is_there ? load_fresh_quad(in + i * QUADS, left - i * QUADS, 0.0f) : (float4)(0.0f);
        factors[i] = is_there ? load_quad(gamma + i * QUADS, left - i * QUADS, 0.0f) : (float4)(0.0f);
        shifts[i] = BETA(float4, is_there ? load_quad(beta + i * QUADS, left - i * QUADS, 0.0f) : (float4)(0.0f));
    }
#if NORM == 1
    float mean = 0.0f;
#else
    float4 sums = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        sums += values[i];
    }
    float mean = group_sum(shared, sum4(sums)) / (float)columns;
#endif
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        values[i] = select((float4)(0.0f), values[i] - mean, (int4)(0, 1, 2, 3) < left - i * QUADS);
        squares = fma(values[i], values[i], squares);
    }
    float scale = scale_of(group_sum(shared, sum4(squares)), columns, eps);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        values[i] = fma(values[i] * scale, factors[i], shifts[i]); /* 0 beyond the row */
        if (left > i * QUADS) {
            store_normal(values[i], row, first + i * QUADS, left - i * QUADS);
        }
    }
#ifdef QUANTIZED
    struct row_range range = empty_range();
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        widen_range(&range, values[i]);
    }
    const struct row_scale by = scale_of_items(&range, (__local float2 *)shared, GROUP_ITEM, GROUP);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        if (left > i * QUADS) {
            store_quantized(values[i], row, first + i * QUADS, left - i * QUADS, &by);
        }
    }
    end_quantized(row, &by);
#endif
}
#else
/* Returns four columns of the result, of which `left` exist; in, gamma and beta: the first of them. */
static inline float4 normal_quad(const FRESH __global float *in, const __global float *gamma, const __global float *beta, int left,
                                 float mean, float scale)
{
    return fma((load_fresh_quad(in, left, 0.0f) - mean) * scale, load_quad(gamma, left, 0.0f),
               BETA(float4, load_quad(beta, left, 0.0f)));
}

static inline void norm_row_gpu(__local float *shared, const struct norm_row *row, const FRESH __global float *in,
                                const __global float *gamma, const __global float *beta, int columns, float eps)
{
    int first = GROUP_ITEM * 4;
    float4 squares = 0.0f;
#if NORM == 1
    float mean = 0.0f;
#else
    float4 sums = 0.0f;
    for (int c = first; c < columns; c += QUADS) {
        sums += load_fresh_quad(in + c, columns - c, 0.0f);
    }
    float mean = group_sum(shared, sum4(sums)) / (float)columns;
#endif
    for (int c = first; c < columns; c += QUADS) {
        float4 p = load_fresh_quad(in + c, columns - c, mean) - mean; /* missing columns add nothing */
        squares = fma(p, p, squares);
    }
    float scale = scale_of(group_sum(shared, sum4(squares)), columns, eps);
#ifdef QUANTIZED
    struct row_range range = empty_range();
    for (int c = first; c < columns; c += QUADS) {
        float4 value = normal_quad(in + c, gamma + c, beta + c, columns - c, mean, scale);
        widen_range(&range, select((float4)(0.0f), value, (int4)(0, 1, 2, 3) < columns - c));
    }
    const struct row_scale by = scale_of_items(&range, (__local float2 *)shared, GROUP_ITEM, GROUP);
#endif
    for (int c = first; c < columns; c += QUADS) {
        float4 value = normal_quad(in + c, gamma + c, beta + c, columns - c, mean, scale);
        store_normal(value, row, c, columns - c);
#ifdef QUANTIZED
        store_quantized(value, row, c, columns - c, &by);
#endif
    }
#ifdef QUANTIZED
    end_quantized(row, &by);
#endif
}
#endif
