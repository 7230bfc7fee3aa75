/* An element of the keys and values that a decoder keeps from step to step: a float, or with HALF_CACHE a half, of which
 * twice as many come through memory in the same time. What is too large for one, more than 65504, becomes infinite. Included,
 * never built alone. */
#ifdef HALF_CACHE
typedef half cache_element;

#define LOAD_CACHED(p, i)         vload_half(i, p)
#define STORE_CACHED(value, p, i) vstore_half(value, i, p)

/* Sixteen, of which `left` are there at least, zeros beyond them. */
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

/* Four, of which `left` >= 1 are there, zeros beyond them. With IS_ALIGNED every four begin on 8 bytes and are there: one
 * access, which compilers make of vload_half4() only where they see that. */
static inline float4 load_cached_quad(const __global cache_element *p, int left)
{
#ifdef IS_ALIGNED
    uint2 halves = *(const __global uint2 *)p;
    return vload_half4(0, (const half *)&halves);
#else
    if (left >= 4) {
        return vload_half4(0, p);
    }
    return (float4)(LOAD_CACHED(p, 0), left > 1 ? LOAD_CACHED(p, 1) : 0.0f, left > 2 ? LOAD_CACHED(p, 2) : 0.0f, 0.0f);
#endif
}

/* As store_quad(). */
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
static inline float4 load_cached_quad(const __global cache_element *p, int left)
{
#ifdef IS_ALIGNED
    return *(const __global float4 *)p;
#else
    return load_quad(p, left, 0.0f);
#endif
}
#endif

/* A row of `width` columns, by one work-item. */
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
