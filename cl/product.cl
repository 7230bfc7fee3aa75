/* What kernels that multiply by packed weights share: included, never built alone.
 *
 * W lies in panels of 32 outputs, zero beyond N: element (n, k) is w[((n / 32) * K + k) * 32 + n % 32]. Every element
 * of x Wᵀ is one chain acc = fma(x[m, k], w[n, k], acc) over k = 0 .. K-1 from acc = 0, in every kernel: its bits depend
 * neither on the number of rows nor on where its row lies.
 *
 * Needs PRECISION, a value of enum clf_precision: how the weights are kept. */
#ifndef PRECISION
#error "product.cl needs PRECISION"
#endif

#define PANEL 32

#if PRECISION == 0
typedef float weight_element;

static inline float16 load_weight16(const __global weight_element *w)
{
    return vload16(0, w);
}

static inline float4 load_weight4(const __global weight_element *w)
{
    return *(const __global float4 *)w;
}
#elif PRECISION == 1
typedef half weight_element; /* converted when loaded: the products are fp32's with rounded weights */

static inline float16 load_weight16(const __global weight_element *w)
{
    return vload_half16(0, w);
}

static inline float4 load_weight4(const __global weight_element *w)
{
    return vload_half4(0, w);
}
#else
#error "no such PRECISION"
#endif

/* tile (ROWS, 32) = ROWS rows of x times one panel. Unrolled, so that the accumulators stay in registers: 8 rows need
 * 16 of the 32 vector registers of AVX-512. */
#define DEFINE_BLOCK(ROWS)                                                                                             \
    static inline void block_##ROWS(float16 *tile, const __global float *x, size_t x_stride, const __global weight_element *panel,     \
                             int inputs)                                                                               \
    {                                                                                                                  \
        float16 left[ROWS], right[ROWS];                                                                               \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            left[r] = 0.0f;                                                                                            \
            right[r] = 0.0f;                                                                                           \
        }                                                                                                              \
        for (int k = 0; k < inputs; k++) {                                                                             \
            float16 w_left = load_weight16(panel + (size_t)k * PANEL);                                                 \
            float16 w_right = load_weight16(panel + (size_t)k * PANEL + 16);                                           \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                           \
            {                                                                                                          \
                float16 value = x[r * x_stride + k];                                                                   \
                left[r] = fma(value, w_left, left[r]);                                                                 \
                right[r] = fma(value, w_right, right[r]);                                                              \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            tile[2 * r] = left[r];                                                                                     \
            tile[2 * r + 1] = right[r];                                                                                \
        }                                                                                                              \
    }
DEFINE_BLOCK(1)
DEFINE_BLOCK(2)
DEFINE_BLOCK(3)
DEFINE_BLOCK(4)
DEFINE_BLOCK(5)
DEFINE_BLOCK(6)
DEFINE_BLOCK(7)
DEFINE_BLOCK(8)

/* tile (count, 32) = count <= 8 rows of x times one panel. */
static inline void block(float16 *tile, const __global float *x, size_t x_stride, int count,
                         const __global weight_element *panel, int inputs)
{
    switch (count) {
    case 1: block_1(tile, x, x_stride, panel, inputs); break;
    case 2: block_2(tile, x, x_stride, panel, inputs); break;
    case 3: block_3(tile, x, x_stride, panel, inputs); break;
    case 4: block_4(tile, x, x_stride, panel, inputs); break;
    case 5: block_5(tile, x, x_stride, panel, inputs); break;
    case 6: block_6(tile, x, x_stride, panel, inputs); break;
    case 7: block_7(tile, x, x_stride, panel, inputs); break;
    default: block_8(tile, x, x_stride, panel, inputs); break;
    }
}
