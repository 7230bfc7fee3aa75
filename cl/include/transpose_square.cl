/* Transposes squares of 16 x 16 weights, for the CPU variant of gemm_input_gradient.cl; included by it, not a
 * program. */

#define ZIP_LOW(a, b)                                                                                                  \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define ZIP_HIGH(a, b)                                                                                                 \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)

/* Transposes a square: to (16 outputs, 16 inputs), rows PANEL apart, = scale * w (16 inputs, 16 outputs), of which
 * `inputs` exist. Interleaving rows i and i + 8 rotates the bits of (row, lane) by one position; four rounds
 * exchange row and lane. */
static inline void transpose_square(weight_element *to, const __global float *w, int inputs, float scale)
{
    float16 a[16], b[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        a[i] = i < inputs ? scale * vload16(0, w + i * PANEL) : (float16)(0.0f);
    }
#define ZIP(OUT, IN)                                                                                                   \
    _Pragma("unroll") for (int i = 0; i < 8; i++)                                                                      \
    {                                                                                                                  \
        OUT[2 * i] = ZIP_LOW(IN[i], IN[i + 8]);                                                                        \
        OUT[2 * i + 1] = ZIP_HIGH(IN[i], IN[i + 8]);                                                                   \
    }
    ZIP(b, a)
    ZIP(a, b)
    ZIP(b, a)
    ZIP(a, b)
#pragma unroll
    for (int i = 0; i < 16; i += OUTPUTS_TOGETHER) {
#if PRECISION == 0
        vstore16(a[i], 0, to + i * PANEL);
#else
        vstore16(round_bf16_16(a[i]) >> 16 | round_bf16_16(a[i + 1]), 0, to + i / 2 * PANEL);
#endif
    }
}
