/* An element of the decoder's cache of keys and values: a float, or with HALF_CACHE a half, which doubles the
 * elements read per second. Numbers above 65504, the largest half, become infinite. Include file, not a program. */
#ifdef HALF_CACHE
typedef half cache_element;

#define LOAD_CACHED(p, i)         vload_half(i, p)
#define STORE_CACHED(value, p, i) vstore_half(value, i, p)

/* Loads sixteen elements, of which at least `left` exist, zeros beyond them. */
#define load_cached16(p, left) (wide_load_cached(p, left).v)
static inline __attribute__((always_inline)) struct wide wide_load_cached(const __global cache_element *p, int left)
{
    if (left >= 16) {
        return WIDE(vload_half16(0, p));
    }
    float lanes[16];
    for (int i = 0; i < 16; i++) {
        lanes[i] = i < left ? LOAD_CACHED(p, i) : 0.0f;
    }
    return WIDE(vload16(0, lanes));
}

#define store_cached16(value, p)  store_half16(value, p)

/* Eight elements as stored, of which `left` >= 1 exist, zeros beyond them. With IS_ALIGNED all eight exist and are
 * 16-byte aligned: one access. */
typedef uint4 cached_octet;
static inline cached_octet read_octet(const __global cache_element *p, int left)
{
#ifdef IS_ALIGNED
    return *(const __global uint4 *)p;
#else
    const __global ushort *halves = (const __global ushort *)p;
    if (left >= 8) {
        return as_uint4(vload8(0, halves));
    }
    return as_uint4((ushort8)(halves[0], left > 1 ? halves[1] : 0, left > 2 ? halves[2] : 0, left > 3 ? halves[3] : 0,
                              left > 4 ? halves[4] : 0, left > 5 ? halves[5] : 0, left > 6 ? halves[6] : 0, 0));
#endif
}

static inline float2 pair_floats(uint pair)
{
#if defined(MATRIX_NV75) || defined(MATRIX_NV80) /* guaranteed to stay in registers */
    float low, high;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(low) : "h"((ushort)pair));
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(high) : "h"((ushort)(pair >> 16)));
    return (float2)(low, high);
#else
    return vload_half2(0, (const half *)&pair);
#endif
}

static inline float8 octet_floats(cached_octet octet)
{
    return (float8)(pair_floats(octet.x), pair_floats(octet.y), pair_floats(octet.z), pair_floats(octet.w));
}

/* Like store_quad(). */
static inline void store_cached_quad(float4 value, __global cache_element *p, int left)
{
    if (left >= 4) {
        vstore_half4(value, 0, p);
        return;
    }
    STORE_CACHED(value.x, p, 0);
    if (left > 1) {
        STORE_CACHED(value.y, p, 1);
    }
    if (left > 2) {
        STORE_CACHED(value.z, p, 2);
    }
}
#else
typedef float cache_element;

#define LOAD_CACHED(p, i)         ((p)[i])
#define STORE_CACHED(value, p, i) ((p)[i] = (value))
#define load_cached16(p, left)    ((left) >= 16 ? vload16(0, p) : load_part(p, left, 0.0f))
#define store_cached16(value, p)  vstore16(value, 0, p)
#define store_cached_quad         store_quad

typedef float8 cached_octet;
static inline cached_octet read_octet(const __global cache_element *p, int left)
{
#ifdef IS_ALIGNED
    return (float8)(*(const __global float4 *)p, *(const __global float4 *)(p + 4));
#else
    return (float8)(load_quad(p, left, 0.0f), left > 4 ? load_quad(p + 4, left - 4, 0.0f) : (float4)(0.0f));
#endif
}
#define octet_floats(octet) (octet)
#endif

/* Stores a row of `width` columns, by one work-item. */
static inline void store_cached_row(__global cache_element *to, const __global float *from, int width)
{
    int c = 0;
    for (; c + 16 <= width; c += 16) {
        store_cached16(vload16(0, from + c), to + c);
    }
    for (; c < width; c++) {
        STORE_CACHED(from[c], to, c);
    }
}
