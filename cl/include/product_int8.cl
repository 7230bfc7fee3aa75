/* What kernels that multiply by int8 weights share: included, never built alone.
 *
 * W ≈ t w: w in -127 .. 127, one t an output. It lies in panels of 32 outputs, zero beyond N, in groups of four inputs:
 * of panel p, at p * panel_bytes(K), w of (output n, input k) is byte ((k / 4) * 32 + n) * 4 + k % 4; after the
 * ceil(K / 4) groups come 32 floats t and 32 integers Σ w.
 *
 * An element of x Wᵀ is s t Σ q w, x ≈ s q as operand_int8.cl says, and Σ q w = Σ u w - zero Σ w. The sums are exact in every
 * kernel, so that it does not matter in which order and by which instructions they are made. */
#include "include/operand_int8.cl"

#include "gemm/layout.h"

static inline int groups_of(int inputs)
{
    return (inputs + 3) / 4;
}

static inline size_t panel_bytes(int inputs)
{
    return (size_t)groups_of(inputs) * (4 * PANEL) + CLF__INT8_TAIL;
}

/* t and Σ w of the 32 outputs of a panel. */
static inline const __global float *panel_scales(const __global char *panel, int inputs)
{
    return (const __global float *)(panel + (size_t)groups_of(inputs) * (4 * PANEL));
}

static inline const __global uint *panel_sums(const __global char *panel, int inputs)
{
    return (const __global uint *)(panel_scales(panel, inputs) + PANEL);
}

/* ---- GPU form ---- */

/* acc + the products of four operands and four w, each a byte of a word. Sums stay below 128 * 127 * 2^16, so that the one
 * built-in which every compiler with the extension has does not saturate. */
static inline int dot_word(int acc, int q, int w)
{
    char4 a = as_char4(q), b = as_char4(w);
#if defined(HAS_INTEGER_DOT_PRODUCT) && defined(__opencl_c_integer_dot_product_input_4x8bit)
    return dot_acc_sat(a, b, acc);
#elif defined(__GFX11__) && __clang_major__ < 16 /* where LLVM crashes finding that instruction by itself */
    return __builtin_amdgcn_sudot4(true, as_int(a), true, as_int(b), acc, false);
#else
    return acc + a.s0 * b.s0 + a.s1 * b.s1 + a.s2 * b.s2 + a.s3 * b.s3; /* one instruction, to AMD's compiler */
#endif
}

/* ---- CPU form: tile (ROWS, 32) = ROWS rows of x times one panel ---- */

/* Operands: rows of `pitch` bytes as quantize.cl writes them. */
#define ROW_SCALE(x, pitch, r) (*(const __global float *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-8))
#define ROW_ZERO(x, pitch, r)  (*(const __global uint *)((const __global uchar *)(x) + ((r) + 1) * (pitch)-4))

#ifdef HAS_DOT_INT8

#define DOT_GROUP(ROWS, chain, g)                                                                                      \
    {                                                                                                                  \
        int16 w_left = vload16((g)*2, (const __global int *)panel);                                                    \
        int16 w_right = vload16((g)*2 + 1, (const __global int *)panel);                                               \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            int16 value = *(const __global int *)(x + r * pitch + 4 * (size_t)(g));                                    \
            DOT_INT8(left[(chain)*ROWS + r], value, w_left);                                                           \
            DOT_INT8(right[(chain)*ROWS + r], value, w_right);                                                         \
        }                                                                                                              \
    }

/* CHAINS sums run side by side where one each would wait for itself. */
#define DEFINE_BLOCK(ROWS, CHAINS)                                                                                     \
    static inline void block_##ROWS(float16 *tile, const __global cpu_operand *x, size_t pitch,                        \
                                              const __global char *panel, int groups)                                  \
    {                                                                                                                  \
        int16 left[ROWS * CHAINS], right[ROWS * CHAINS];                                                               \
        _Pragma("unroll") for (int i = 0; i < ROWS * CHAINS; i++)                                                      \
        {                                                                                                              \
            left[i] = 0;                                                                                               \
            right[i] = 0;                                                                                              \
        }                                                                                                              \
        int g = 0;                                                                                                     \
        for (; g + CHAINS <= groups; g += CHAINS) {                                                                    \
            _Pragma("unroll") for (int chain = 0; chain < CHAINS; chain++)                                             \
            {                                                                                                          \
                DOT_GROUP(ROWS, chain, g + chain)                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (; g < groups; g++) {                                                                                      \
            DOT_GROUP(ROWS, 0, g)                                                                                      \
        }                                                                                                              \
        const __global float *scales = (const __global float *)(panel + (size_t)groups * (4 * PANEL));                 \
        const __global uint *sums = (const __global uint *)(scales + PANEL);                                           \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            _Pragma("unroll") for (int chain = 1; chain < CHAINS; chain++)                                             \
            {                                                                                                          \
                left[r] += left[chain * ROWS + r];                                                                     \
                right[r] += right[chain * ROWS + r];                                                                   \
            }                                                                                                          \
            float16 scale = ROW_SCALE(x, pitch, r);                                                                    \
            uint16 zero = ROW_ZERO(x, pitch, r);                                                                       \
            left[r] = as_int16(as_uint16(left[r]) - zero * vload16(0, sums));                                          \
            right[r] = as_int16(as_uint16(right[r]) - zero * vload16(1, sums));                                        \
            tile[2 * r] = convert_float16(left[r]) * (scale * vload16(0, scales));                                     \
            tile[2 * r + 1] = convert_float16(right[r]) * (scale * vload16(1, scales));                                \
        }                                                                                                              \
    }

#else

/* Sums over so many groups of products of at most 254 * 127 stay below 2^24: exact in fp32. */
#define EXACT_GROUPS 128

/* w of input j of a group, of the 16 outputs whose groups are the words */
#define WEIGHT16(words, j) convert_float16(((words) << (24 - 8 * (j))) >> 24)

#define DEFINE_BLOCK(ROWS, CHAINS)                                                                                     \
    static inline void block_##ROWS(float16 *tile, const __global cpu_operand *x, size_t pitch,                        \
                                              const __global char *panel, int groups)                                  \
    {                                                                                                                  \
        int16 left[ROWS], right[ROWS];                                                                                 \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            left[r] = 0;                                                                                               \
            right[r] = 0;                                                                                              \
        }                                                                                                              \
        for (int first = 0; first < groups; first += EXACT_GROUPS) {                                                   \
            float16 left_part[ROWS], right_part[ROWS];                                                                 \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                           \
            {                                                                                                          \
                left_part[r] = 0.0f;                                                                                   \
                right_part[r] = 0.0f;                                                                                  \
            }                                                                                                          \
            int end = min(groups, first + EXACT_GROUPS);                                                               \
            for (int g = first; g < end; g++) {                                                                        \
                int16 w_left = vload16(g * 2, (const __global int *)panel);                                            \
                int16 w_right = vload16(g * 2 + 1, (const __global int *)panel);                                       \
                _Pragma("unroll") for (int j = 0; j < 4; j++)                                                          \
                {                                                                                                      \
                    float16 f_left = WEIGHT16(w_left, j), f_right = WEIGHT16(w_right, j);                              \
                    _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                   \
                    {                                                                                                  \
                        float16 value = *(const __global float *)((const __global uchar *)x + r * pitch + 16 * (size_t)g + 4 * j); \
                        left_part[r] = fma16(value, f_left, left_part[r]);                                             \
                        right_part[r] = fma16(value, f_right, right_part[r]);                                          \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                           \
            {                                                                                                          \
                left[r] += convert_int16(left_part[r]);                                                                \
                right[r] += convert_int16(right_part[r]);                                                              \
            }                                                                                                          \
        }                                                                                                              \
        const __global float *scales = (const __global float *)(panel + (size_t)groups * (4 * PANEL));                 \
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)                                                               \
        {                                                                                                              \
            float16 scale = ROW_SCALE(x, pitch, r);                                                                    \
            tile[2 * r] = convert_float16(left[r]) * (scale * vload16(0, scales));                                     \
            tile[2 * r + 1] = convert_float16(right[r]) * (scale * vload16(1, scales));                                \
        }                                                                                                              \
    }

#endif

DEFINE_BLOCK(1, 4)
DEFINE_BLOCK(2, 4)
DEFINE_BLOCK(3, 2)
DEFINE_BLOCK(4, 2)
DEFINE_BLOCK(5, 1)
DEFINE_BLOCK(6, 1)
DEFINE_BLOCK(7, 1)
DEFINE_BLOCK(8, 1)

/* tile (count, 32) = count <= BLOCK_ROWS rows of x times one panel. */
static inline void block_global(float16 *tile, const __global cpu_operand *x, size_t pitch, int count,
                                const __global char *panel, int groups)
{
    switch (count) {
    case 1: block_1(tile, x, pitch, panel, groups); break;
    case 2: block_2(tile, x, pitch, panel, groups); break;
    case 3: block_3(tile, x, pitch, panel, groups); break;
    case 4: block_4(tile, x, pitch, panel, groups); break;
    case 5: block_5(tile, x, pitch, panel, groups); break;
    case 6: block_6(tile, x, pitch, panel, groups); break;
    case 7: block_7(tile, x, pitch, panel, groups); break;
    default: block_8(tile, x, pitch, panel, groups); break;
    }
}
