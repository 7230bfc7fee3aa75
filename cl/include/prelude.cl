/* Precedes every program. The host defines the macros HAS_FP16, HAS_SUBGROUPS, HAS_INTEGER_DOT_PRODUCT and
 * HAS_DP4A if the device has the feature. */

/* Equal expressions give equal bits in every kernel: the source calls fma() explicitly. */
#pragma OPENCL FP_CONTRACT OFF

#include "include/level.cl"

/* CPU variants: one work-item per group, 16-wide vectors. */
#define CPU_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1)))

/* GPU variants: GROUP work-items per group, a power of two; launches use more for long rows, and kernels
 * that are faster with another number declare it. */
#ifndef GROUP
#define GROUP 64
#endif
/* A work-item's index in its group. GROUPS_TOGETHER: each group of a launch contains several groups of
 * GROUP, which reach the same barriers. */
#ifdef GROUPS_TOGETHER
#define WITHOUT_SUBGROUPS
#define GROUP_ITEM ((int)get_local_id(0) % GROUP)
#else
#define GROUP_ITEM ((int)get_local_id(0))
#endif
/* The qualifier of rows that other groups of the same launch have written. Without device-scope atomics, a plain load can get an
 * old value from the first-level cache. */
#if defined(GROUPS_TOGETHER) && defined(HAS_FENCED_ATOMICS)
#define FRESH volatile
#else
#define FRESH
#endif
#define TILE_GROUP           128 /* for kernels with tiles: CLF__TILE_GROUP */
#define GPU_KERNEL_OF(items) __kernel __attribute__((reqd_work_group_size(items, 1, 1)))
#define GPU_KERNEL           GPU_KERNEL_OF(GROUP)

/* A device runs one kernel variant, VARIANT_CPU or VARIANT_GPU; if neither is defined, both are compiled. The kernels
 * of the other variant become unused functions, which compilers drop: this halves the time of a first start.
 * Functions cannot declare local memory, so VARIANT_CPU removes the word __local, which only GPU kernels use. */
#if defined(VARIANT_CPU)
#undef GPU_KERNEL_OF
#define GPU_KERNEL_OF(items) static
#define __local
#elif defined(VARIANT_GPU)
#undef CPU_KERNEL
#define CPU_KERNEL static
#endif

/* GPU variants: reductions of one value per work-item over the group; every work-item gets the result. The tree is
 * fixed: of 64 items, 0 .. 31 are combined with 32 .. 63, then 0 .. 15 with 16 .. 31, and so on down to 0 with 1. If
 * the device has sub-groups, they compute the last levels without local memory: the same tree and the same bits,
 * because the operations commute.
 *
 * shared holds GROUP values and may be reused at once; every work-item must call this. The assignment of
 * items to sub-groups does not matter. */
#if defined(HAS_SUBGROUPS) && !defined(WITHOUT_SUBGROUPS) /* lets tests run both variants on one device */
#if defined(cl_khr_subgroup_shuffle)
#define PASS_VALUE sub_group_shuffle_xor
#elif defined(cl_intel_subgroups)
#define PASS_VALUE intel_sub_group_shuffle_xor
#endif
#endif

#ifdef PASS_VALUE
#define DEFINE_GROUP_REDUCTION(NAME, T, COMBINE)                                                                       \
    static inline T NAME(__local T *shared, T value)                                                                   \
    {                                                                                                                  \
        int item = GROUP_ITEM;                                                                               \
        int lanes = (int)get_max_sub_group_size();                                                                     \
        if (lanes > GROUP || (lanes & (lanes - 1)) != 0) {                                                             \
            lanes = 1; /* all levels except the last use local memory */                                               \
        }                                                                                                              \
        int lane = (int)get_sub_group_local_id() % lanes;                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        shared[item] = value;                                                                                          \
        for (int distance = GROUP / 2; distance > lanes; distance /= 2) {                                              \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            if (item < distance) {                                                                                     \
                shared[item] = COMBINE(shared[item], shared[item + distance]);                                         \
            }                                                                                                          \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        T result = shared[lane];                                                                                       \
        if (lanes < GROUP) {                                                                                           \
            result = COMBINE(result, shared[lane + lanes]);                                                            \
        }                                                                                                              \
        for (int distance = lanes / 2; distance > 0; distance /= 2) {                                                  \
            result = COMBINE(result, PASS_VALUE(result, distance));                                                    \
        }                                                                                                              \
        return result;                                                                                                 \
    }
#elif GROUP == 256 /* four levels at a time: three barriers instead of ten */
/* The tree of s[at], s[at + step] .. s[at + 15 * step]. */
#define TREE_OF_FOUR(COMBINE, s, at, step)                                                                             \
    COMBINE(COMBINE(s[at], s[(at) + 8 * (step)]), COMBINE(s[(at) + 4 * (step)], s[(at) + 12 * (step)]))
#define TREE_OF_16(COMBINE, s, at, step)                                                                               \
    COMBINE(COMBINE(TREE_OF_FOUR(COMBINE, s, at, step), TREE_OF_FOUR(COMBINE, s, (at) + 2 * (step), step)),            \
            COMBINE(TREE_OF_FOUR(COMBINE, s, (at) + (step), step), TREE_OF_FOUR(COMBINE, s, (at) + 3 * (step), step)))
#define DEFINE_GROUP_REDUCTION(NAME, T, COMBINE)                                                                       \
    static inline T NAME(__local T *shared, T value)                                                                   \
    {                                                                                                                  \
        int item = GROUP_ITEM;                                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        shared[item] = value;                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        if (item < 16) {                                                                                               \
            shared[item] = TREE_OF_16(COMBINE, shared, item, 16);                                                      \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        return TREE_OF_16(COMBINE, shared, 0, 1);                                                                      \
    }
#else
#define DEFINE_GROUP_REDUCTION(NAME, T, COMBINE)                                                                       \
    static inline T NAME(__local T *shared, T value)                                                                   \
    {                                                                                                                  \
        int item = GROUP_ITEM;                                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        shared[item] = value;                                                                                          \
        for (int distance = GROUP / 2; distance > 0; distance /= 2) {                                                  \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            if (item < distance) {                                                                                     \
                shared[item] = COMBINE(shared[item], shared[item + distance]);                                         \
            }                                                                                                          \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        return shared[0];                                                                                              \
    }
#endif
#define ADD(a, b) ((a) + (b))
DEFINE_GROUP_REDUCTION(group_sum, float, ADD)
#undef ADD
DEFINE_GROUP_REDUCTION(group_max, float, fmax) /* ignores NaN */

/* GPU variants process rows in quads: work-item i has columns 4i .. 4i + 3 of every QUADS columns. A quad of a
 * 16-byte aligned row is one access; unaligned rows have the same columns per work-item, to keep the order of
 * sums. */
#define QUADS (4 * GROUP)

/* Loads four floats, of which the first `left` >= 1 exist; fills the rest. */
static inline float4 load_quad(const __global float *p, int left, float fill)
{
    if (left >= 4) {
        return ((size_t)p & 15) == 0 ? *(const __global float4 *)p : vload4(0, p);
    }
    return (float4)(p[0], left > 1 ? p[1] : fill, left > 2 ? p[2] : fill, fill);
}

#if defined(GROUPS_TOGETHER) && defined(HAS_FENCED_ATOMICS)
static inline float4 load_fresh_quad(const FRESH __global float *p, int left, float fill)
{
    return (float4)(p[0], left > 1 ? p[1] : fill, left > 2 ? p[2] : fill, left > 3 ? p[3] : fill);
}
#else
#define load_fresh_quad load_quad
#endif

static inline void store_quad(float4 value, __global float *p, int left)
{
    if (left >= 4 && ((size_t)p & 15) == 0) {
        *(__global float4 *)p = value;
        return;
    }
    p[0] = value.x;
    if (left > 1) {
        p[1] = value.y;
    }
    if (left > 2) {
        p[2] = value.z;
    }
    if (left > 3) {
        p[3] = value.w;
    }
}

static inline float sum4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

static inline float max4(float4 v)
{
    return fmax(fmax(v.x, v.y), fmax(v.z, v.w));
}

/* Loads count < 16 floats (may be 0); fills the rest. */
#define load_part(p, count, fill) (wide_load_part(p, count, fill).v)
static inline struct wide wide_load_part(const __global float *p, int count, float fill)
{
    float lanes[16];
    for (int i = 0; i < 16; i++) {
        lanes[i] = i < count ? p[i] : fill;
    }
    return WIDE(vload16(0, lanes));
}

/* Loads a register of the level, of which at least `left` floats exist; zeros beyond them. */
#if VECTOR_LANES == 16
#define load_lanes(p, left) (wide_load_lanes(p, left).v)
static inline struct wide wide_load_lanes(const __global float *p, int left)
{
    return WIDE(left >= VECTOR_LANES ? load_floatv(p) : load_part(p, left, 0.0f));
}
#else
static inline float8 load_lanes(const __global float *p, int left)
{
    return left >= VECTOR_LANES ? load_floatv(p) : load_part(p, left, 0.0f).lo;
}
#endif

#define store_part(value, p, count) wide_store_part(WIDE(value), p, count)
static inline void wide_store_part(struct wide value, __global float *p, int count)
{
    float lanes[16];
    vstore16(value.v, 0, lanes);
    for (int i = 0; i < count; i++) {
        p[i] = lanes[i];
    }
}

#define sum16(value) wide_sum(WIDE(value))
static inline float wide_sum(struct wide value)
{
    float8 a = value.v.lo + value.v.hi;
    float4 b = a.lo + a.hi;
    float2 c = b.lo + b.hi;
    return c.x + c.y;
}

#define max16(value) wide_max(WIDE(value))
static inline float wide_max(struct wide value)
{
    float8 a = fmax(value.v.lo, value.v.hi);
    float4 b = fmax(a.lo, a.hi);
    float2 c = fmax(b.lo, b.hi);
    return fmax(c.x, c.y);
}

/* exp(x) for -87 <= x <= 87, with a relative error of 1e-7, in half the time of the built-in function; NaN
 * stays NaN. Adding 1.5 * 2^23 leaves the integer nearest to x / ln 2 in the low bits. */
#define near_exp16(x) (wide_near_exp(WIDE(x)).v)
static inline struct wide wide_near_exp(struct wide argument)
{
    float16 x = argument.v;
    float16 shifted = fma16(x, (float16)(1.44269504f), (float16)(12582912.0f));
    float16 n = shifted - 12582912.0f;
    float16 f = fma16(n, (float16)(-0.693145752f), x);
    f = fma16(n, (float16)(-1.42860677e-6f), f);
    float16 p = fma16(f, (float16)(8.31247587e-3f), (float16)(4.18900810e-2f));
    p = fma16(p, f, (float16)(1.66671142e-1f));
    p = fma16(p, f, (float16)(4.99992311e-1f));
    p = fma16(p, f, (float16)(1.0f));
    p = fma16(p, f, (float16)(1.0f));
    return WIDE(p * as_float16((as_int16(shifted) << 23) + 0x3f800000));
}

#ifdef ACTIVATION /* a value of enum clf__activation */
#include "include/activate.cl"
#endif
