/* Measures peak rates of a device, as a reference for other kernels: fma and dot products per second, and bytes read
 * per second.
 *
 * No macros; HAS_DOT_BF16 (CPU variant) and HAS_INTEGER_DOT_PRODUCT (GPU variant) add the peaks of dot products;
 * with HAS_TILES, tiles compute them. */

/* ---- CPU variant ---- */

/* sums[group] = the results of 12 chains of `rounds` fma on vectors: 2 * 12 * VECTOR_LANES * rounds
 * operations per group. Twelve chains cover the latency of two fma units. */
CPU_KERNEL void peak_fma_cpu(__global float *sums, int rounds, float factor)
{
    floatv f = factor, a = 0.0f, b = 1.0f, c = 2.0f, d = 3.0f, e = 4.0f, g = 5.0f;
    floatv h = 6.0f, i = 7.0f, j = 8.0f, k = 9.0f, l = 10.0f, m = 11.0f;
    for (int round = 0; round < rounds; round++) {
        a = fmav(a, f, f);
        b = fmav(b, f, f);
        c = fmav(c, f, f);
        d = fmav(d, f, f);
        e = fmav(e, f, f);
        g = fmav(g, f, f);
        h = fmav(h, f, f);
        i = fmav(i, f, f);
        j = fmav(j, f, f);
        k = fmav(k, f, f);
        l = fmav(l, f, f);
        m = fmav(m, f, f);
    }
    sums[get_group_id(0)] = sumv(a + b + c + d + e + g + h + i + j + k + l + m);
}

/* Like peak_fma_cpu, with dot products of 4 / INT8_BYTES int8 numbers, or of two bf16 numbers, per lane; the
 * number of operations grows accordingly. Declares the sum `a` of the chains. */
#define DOT_PEAK(T, DOT, rounds, a)                                                                                    \
    T f = (T)(1), a = 0, b = 1, c = 2, d = 3, e = 4, g = 5, h = 6, i = 7, j = 8, k = 9, l = 10, m = 11;                \
    for (int round = 0; round < (rounds); round++) {                                                                   \
        DOT(a, f, f);                                                                                                  \
        DOT(b, f, f);                                                                                                  \
        DOT(c, f, f);                                                                                                  \
        DOT(d, f, f);                                                                                                  \
        DOT(e, f, f);                                                                                                  \
        DOT(g, f, f);                                                                                                  \
        DOT(h, f, f);                                                                                                  \
        DOT(i, f, f);                                                                                                  \
        DOT(j, f, f);                                                                                                  \
        DOT(k, f, f);                                                                                                  \
        DOT(l, f, f);                                                                                                  \
        DOT(m, f, f);                                                                                                  \
    }                                                                                                                  \
    a += b + c + d + e + g + h + i + j + k + l + m;

#if defined(VARIANT_CPU) && defined(HAS_TILES)
#define TILE_PRODUCT "tdpbusd"
#include "include/tiles.cl"

/* Four tiles of sums, with operands of zeros: 2 * 4 * 16 * 16 * 16 operations per round, times the number of
 * inputs in a group. */
#define TILE_PEAK(PRODUCT, sums, rounds, factor)                                                                       \
    struct tiled tiled;                                                                                                \
    begin_tiled(&tiled, 0);                                                                                            \
    set_tiles(&tiled, MOST_TILED, TILE_DEPTH);                                                                         \
    for (int round = 0; round < (rounds); round++) {                                                                   \
        __asm__ volatile(PRODUCT " %%tmm6, %%tmm4, %%tmm0\n\t" PRODUCT " %%tmm7, %%tmm4, %%tmm1\n\t" PRODUCT           \
                                 " %%tmm6, %%tmm5, %%tmm2\n\t" PRODUCT " %%tmm7, %%tmm5, %%tmm3" ::                    \
                                     : "memory");                                                                      \
    }                                                                                                                  \
    end_tiled(&tiled);                                                                                                 \
    sums[get_group_id(0)] = factor;

CPU_KERNEL void peak_int8_cpu(__global float *sums, int rounds, float factor)
{
    TILE_PEAK("tdpbusd", sums, rounds, factor)
}

CPU_KERNEL void peak_bf16_cpu(__global float *sums, int rounds, float factor)
{
    TILE_PEAK("tdpbf16ps", sums, rounds, factor)
}
#elif defined(VARIANT_CPU)
#if INT8_BYTES != CLF__INT8_FLOAT
#define PEAK_INT8(acc, u, s) DOT_INT8(acc, acc, s) /* acc is an operand, so no product can be hoisted */
CPU_KERNEL void peak_int8_cpu(__global float *sums, int rounds, float factor)
{
    DOT_PEAK(intv, PEAK_INT8, rounds, a)
    sums[get_group_id(0)] = factor * sumv(convert_floatv(a));
}
#endif

#ifdef HAS_DOT_BF16
CPU_KERNEL void peak_bf16_cpu(__global float *sums, int rounds, float factor)
{
    DOT_PEAK(floatv, DOT_BF16, rounds, a)
    sums[get_group_id(0)] = factor * sumv(a);
}
#endif
#endif

/* sums[group] = the sum of count floats of x starting at (first + group) * count; count is a multiple of 64. */
CPU_KERNEL void peak_read_cpu(__global float *sums, const __global float *x, int count, int first)
{
    x += (first + get_group_id(0)) * (size_t)count;
    float16 a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (int i = 0; i < count / 16; i += 4) {
        a += vload16(i, x);
        b += vload16(i + 1, x);
        c += vload16(i + 2, x);
        d += vload16(i + 3, x);
    }
    sums[get_group_id(0)] = sum16(a + b + c + d);
}

/* ---- GPU variant ---- */

/* Like peak_fma_cpu, with 8 chains of floats: 2 * 8 * rounds operations per work-item. sums (groups * GROUP). */
GPU_KERNEL void peak_fma_gpu(__global float *sums, int rounds, float factor)
{
    float f = factor, a = 0.0f, b = 1.0f, c = 2.0f, d = 3.0f, e = 4.0f, g = 5.0f, h = 6.0f, i = 7.0f;
    for (int round = 0; round < rounds; round++) {
        a = fma(a, f, f);
        b = fma(b, f, f);
        c = fma(c, f, f);
        d = fma(d, f, f);
        e = fma(e, f, f);
        g = fma(g, f, f);
        h = fma(h, f, f);
        i = fma(i, f, f);
    }
    sums[get_global_id(0)] = a + b + c + d + e + g + h + i;
}

/* Eight chains of dot products of four 8-bit numbers: 2 * 8 * 4 * rounds operations per work-item. */
#if defined(VARIANT_GPU) && defined(HAS_INTEGER_DOT_PRODUCT)
#include "include/dot_word.cl"

GPU_KERNEL void peak_int8_gpu(__global float *sums, int rounds, float factor)
{
    int f = 0x01010101, a = 0, b = 1, c = 2, d = 3, e = 4, g = 5, h = 6, i = 7;
    for (int round = 0; round < rounds; round++) {
        a = dot_word(a, a, f); /* a is an operand, so no product can be hoisted */
        b = dot_word(b, b, f);
        c = dot_word(c, c, f);
        d = dot_word(d, d, f);
        e = dot_word(e, e, f);
        g = dot_word(g, g, f);
        h = dot_word(h, h, f);
        i = dot_word(i, i, f);
    }
    sums[get_global_id(0)] = factor * (float)(a + b + c + d + e + g + h + i);
}
#endif

/* sums (groups * GROUP); count: as for peak_read_cpu. */
GPU_KERNEL void peak_read_gpu(__global float *sums, const __global float *x, int count, int first)
{
    x += (first + get_group_id(0)) * (size_t)count;
    float4 sum = 0.0f;
    for (int i = (int)get_local_id(0); i < count / 4; i += GROUP) {
        sum += vload4(i, x);
    }
    sums[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}
