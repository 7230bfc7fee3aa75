/* Vectors of 16 lanes, which every level has, and vectors of eight halves. Part of the prelude, included by
 * level.cl; not a program. */

/* Converts eight halves to floats, and back. PoCL converts them one at a time unless it knows an instruction for
 * all. */
#if defined(__x86_64__) && defined(__F16C__) && !defined(WITHOUT_F16C) /* lets tests run both variants */
#define HAS_F16C
#endif
#if (defined(__aarch64__) || defined(__x86_64__)) && !defined(HAS_F16C) && !defined(__SPIR__)
#define HALVES_APART
typedef ushort8 loose_ushort8 __attribute__((aligned(2)));
static inline float8 load_half8(const __global half *p)
{
    ushort8 halves = *(const __global loose_ushort8 *)p;
#ifdef __aarch64__
    float4 low, high;
    __asm__("fcvtl %0.4s, %1.4h" : "=w"(low) : "w"(halves));
    __asm__("fcvtl2 %0.4s, %1.8h" : "=w"(high) : "w"(halves));
    return (float8)(low, high);
#else
    uint8 bits = __builtin_convertvector(halves, uint8), magnitude = (bits & 0x7fffu) << 13;
    /* Exponents are biased by 15 instead of 127, except for infinities and NaN, which have the largest
     * exponent. */
    uint8 number = as_uint8(as_float8(magnitude) * 0x1p112f);
    uint8 value = magnitude >= 0x7c00u << 13 ? magnitude | 0x7f800000u : number;
    return as_float8(value | (bits & 0x8000u) << 16);
#endif
}
#else
#define load_half8(p) vload_half8(0, p)
#endif
#if defined(__aarch64__) && !defined(__SPIR__)
static inline void store_half8(float8 value, __global half *p)
{
    float4 low = value.lo, high = value.hi;
    ushort8 halves;
    __asm__("fcvtn %0.4h, %1.4s\n\tfcvtn2 %0.8h, %2.4s" : "=&w"(halves) : "w"(low), "w"(high));
    *(__global loose_ushort8 *)p = halves;
}
#else
#define store_half8(value, p) vstore_half8(value, 0, p)
#endif

/* Vectors of 16 lanes: one register of AVX-512 or two of AVX2. x86 compilers warn if a vector of two registers is
 * passed by value, because the calling convention depends on the instruction set. Therefore functions pass such
 * vectors in a struct, hidden by macros, and built-in functions get one half at a time. All are inlined; bits and
 * speed do not change. */
struct wide {
    float16 v;
};
#define WIDE(vector) ((struct wide){vector})

#if defined(__x86_64__) && !defined(__AVX512F__)
#define JOIN_HALVES(low, high)                                                                                         \
    __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

static inline struct wide wide_fma(struct wide a, struct wide b, struct wide c)
{
    return WIDE(JOIN_HALVES(fma(a.v.lo, b.v.lo, c.v.lo), fma(a.v.hi, b.v.hi, c.v.hi)));
}

static inline struct wide wide_fmax(struct wide a, struct wide b)
{
    return WIDE(JOIN_HALVES(fmax(a.v.lo, b.v.lo), fmax(a.v.hi, b.v.hi)));
}

static inline struct wide wide_exp(struct wide a)
{
    return WIDE(JOIN_HALVES(exp(a.v.lo), exp(a.v.hi)));
}

static inline struct wide wide_log10(struct wide a)
{
    return WIDE(JOIN_HALVES(log10(a.v.lo), log10(a.v.hi)));
}

static inline struct wide wide_sqrt(struct wide a)
{
    return WIDE(JOIN_HALVES(sqrt(a.v.lo), sqrt(a.v.hi)));
}

static inline struct wide wide_fabs(struct wide a)
{
    return WIDE(JOIN_HALVES(fabs(a.v.lo), fabs(a.v.hi)));
}

#define fma16(a, b, c)       (wide_fma(WIDE(a), WIDE(b), WIDE(c)).v)
#define fmax16(a, b)         (wide_fmax(WIDE(a), WIDE(b)).v)
#define exp16(a)             (wide_exp(WIDE(a)).v)
#define log10_16(a)          (wide_log10(WIDE(a)).v)
#define sqrt16(a)            (wide_sqrt(WIDE(a)).v)
#define fabs16(a)            (wide_fabs(WIDE(a)).v)
#define vload16(i, p)        JOIN_HALVES(vload8(2 * (i), p), vload8(2 * (i) + 1, p))
#define vload_half16(i, p)   JOIN_HALVES(load_half8((p) + 16 * (i)), load_half8((p) + 16 * (i) + 8))

#define convert_float16(a)   __builtin_convertvector(a, float16)
#define convert_int16(a)     __builtin_convertvector(a, int16)
#define convert_ushort16(a)  __builtin_convertvector(a, ushort16)
#else
#ifdef HALVES_APART
#define vload_half16(i, p) ((float16)(load_half8((p) + 16 * (i)), load_half8((p) + 16 * (i) + 8)))
#endif
#define fma16    fma
#define fmax16   fmax
#define exp16    exp
#define log10_16 log10
#define sqrt16   sqrt
#define fabs16   fabs
#endif

/* Like vstore_half16(), one half of the vector at a time. */
#define store_half16(value, p) wide_store_half16(WIDE(value), p)
static inline void wide_store_half16(struct wide value, __global half *p)
{
    store_half8(value.v.lo, p);
    store_half8(value.v.hi, p + 8);
}

/* Whole vectors at any address. PoCL's vstore8 and vstore16 store 16 bytes at a time, which stalls a later
 * load of the whole vector. */
#if defined(__x86_64__) && defined(__clang__)
#define DEFINE_LOOSE(T)                                                                                                \
    typedef T##8 loose_##T##8 __attribute__((aligned(4)));                                                             \
    typedef T##16 loose_##T##16 __attribute__((aligned(4)));
#define DEFINE_PLACES(T, SPACE)                                                                                        \
    static inline SPACE loose_##T##8 *__attribute__((overloadable)) places8(SPACE T *p)                                \
    {                                                                                                                  \
        return (SPACE loose_##T##8 *)p;                                                                                \
    }                                                                                                                  \
    static inline SPACE loose_##T##16 *__attribute__((overloadable)) places16(SPACE T *p)                              \
    {                                                                                                                  \
        return (SPACE loose_##T##16 *)p;                                                                               \
    }
DEFINE_LOOSE(float)
DEFINE_LOOSE(int)
DEFINE_LOOSE(uint)
#ifdef __opencl_c_generic_address_space /* default address space of pointers */
DEFINE_PLACES(float, __generic)
DEFINE_PLACES(int, __generic)
DEFINE_PLACES(uint, __generic)
#else
DEFINE_PLACES(float, __global)
DEFINE_PLACES(float, __private)
DEFINE_PLACES(int, __global)
DEFINE_PLACES(int, __private)
DEFINE_PLACES(uint, __global)
DEFINE_PLACES(uint, __private)
#endif
#define vstore8(value, i, p)  (places8(p)[i] = (value))
#define vstore16(value, i, p) (places16(p)[i] = (value))
#endif
