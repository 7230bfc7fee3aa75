/* Rounding to bf16, the upper half of a float: to nearest, ties to even; NaN stays NaN. Include file, not a
 * program. */

#ifndef ROUND_BF16 /* more than one file includes this one */

/* rounded: the bits of v rounded; the lower half is zero. */
#define ROUND_BF16(UINT, v)                                                                                            \
    UINT bits = as_##UINT(v);                                                                                          \
    UINT rounded = bits + 0x7fffu + (bits >> 16 & 1u);                                                                 \
    rounded = ((v) != (v) ? bits | 0x400000u : rounded) & 0xffff0000u;

static inline uint round_bf16(float v)
{
    ROUND_BF16(uint, v)
    return rounded;
}

#define round_bf16_16(value) as_uint16(wide_round_bf16(WIDE(value)).v)
static inline struct wide wide_round_bf16(struct wide value)
{
    ROUND_BF16(uint16, value.v)
    return WIDE(as_float16(rounded));
}

/* PoCL's vstore16() stores short integers one at a time. */
typedef ushort16 ushort16_anywhere __attribute__((aligned(2)));

#define store_bf16_16(value, to) wide_store_bf16(WIDE(value), to)
static inline void wide_store_bf16(struct wide value, __global ushort *to)
{
    *(__global ushort16_anywhere *)to = convert_ushort16(round_bf16_16(value.v) >> 16);
}
#endif
