/* out = Wᵀ (K, N) as a weight of its own, from W (N, K): both lie in panels as product.cl says, so that
 *     out[((k / 32) * N + n) * 32 + k % 32] = w[((n / 32) * K + k) * 32 + n % 32]
 * and what lies beyond K is zero. A square of 32 inputs and 32 outputs is one piece of memory on both sides. */

#define PANEL 32

/* ---- CPU form ---- */

#define ZIP_LOW(a, b)                                                                                                  \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define ZIP_HIGH(a, b)                                                                                                 \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)

/* to (count, 16) of rows PANEL apart = the transpose of from (16, 16), of which `rows` are there. Zipping rows i and i + 8
 * turns the bits of an element's row and lane by one place; four times exchanges them. */
static inline void transpose_square(__global float *to, const __global float *from, int rows, int count)
{
    float16 a[16], b[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        a[i] = i < rows ? vload16(0, from + i * PANEL) : (float16)(0.0f);
    }
#define ROUND(OUT, IN)                                                                                                 \
    _Pragma("unroll") for (int i = 0; i < 8; i++)                                                                      \
    {                                                                                                                  \
        OUT[2 * i] = ZIP_LOW(IN[i], IN[i + 8]);                                                                        \
        OUT[2 * i + 1] = ZIP_HIGH(IN[i], IN[i + 8]);                                                                   \
    }
    ROUND(b, a)
    ROUND(a, b)
    ROUND(b, a)
    ROUND(a, b)
#pragma unroll
    for (int i = 0; i < 16; i++) {
        if (i < count) {
            vstore16(a[i], 0, to + i * PANEL);
        }
    }
}

/* A group: 32 inputs of panels_per_group panels of W. */
CPU_KERNEL void transpose_weight_cpu(__global float *out, const __global float *w, int inputs, int outputs,
                                     int panels_per_group)
{
    int k = (int)get_group_id(0) * PANEL;
    int first = (int)get_group_id(1) * panels_per_group * PANEL;
    int end = min(outputs, first + panels_per_group * PANEL);
    for (int n = first; n < end; n += PANEL) {
        for (int quarter = 0; quarter < 4; quarter++) {
            int i = k + quarter / 2 * 16, j = n + quarter % 2 * 16;
            if (j < outputs) {
                transpose_square(out + (size_t)k * outputs + (size_t)j * PANEL + quarter / 2 * 16,
                                 w + (size_t)n * inputs + (size_t)i * PANEL + quarter % 2 * 16, inputs - i, outputs - j);
            }
        }
    }
}

/* ---- GPU form ---- */

/* A group: 32 inputs of one panel of W. */
GPU_KERNEL void transpose_weight_gpu(__global float *out, const __global float *w, int inputs, int outputs)
{
    __local float square[PANEL * (PANEL + 1)]; /* odd pitch: no bank conflicts */
    int lane = (int)get_local_id(0) % PANEL, half_group = (int)get_local_id(0) / PANEL;
    int k = (int)get_group_id(0) * PANEL, n = (int)get_group_id(1) * PANEL;
    for (int i = half_group; i < PANEL; i += GROUP / PANEL) {
        square[i * (PANEL + 1) + lane] = k + i < inputs ? w[(size_t)n * inputs + (size_t)(k + i) * PANEL + lane] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = half_group; j < PANEL && n + j < outputs; j += GROUP / PANEL) {
        out[(size_t)k * outputs + (size_t)(n + j) * PANEL + lane] = square[lane * (PANEL + 1) + j];
    }
}
