/* The exponential of a softmax on vectors. The built-in exp takes twice as long, because it handles arguments that
 * do not occur in a softmax. Include file, not a program. */

/* 2^x for x <= 0, with a relative error of 1e-7: 2^n times a polynomial in f = x - n, n the integer nearest
 * to x. Below -126.5 the result is 0; NaN stays NaN; 0 gives exactly 1. Adding 1.5 * 2^23 + 127 leaves n +
 * 127, the exponent of 2^n, in the low bits. */
#define exp2_16(x) (wide_exp2(WIDE(x)).v)
static inline struct wide wide_exp2(struct wide argument)
{
    float16 x = argument.v;
    x = x < -127.0f ? (float16)(-127.0f) : x;
    float16 shifted = x + 12583039.0f;
    float16 f = x - (shifted - 12583039.0f);
    float16 p = fma16(f, (float16)(1.326472731e-3f), (float16)(9.671512991e-3f));
    p = fma16(f, p, (float16)(5.550733581e-2f));
    p = fma16(f, p, (float16)(2.402224243e-1f));
    p = fma16(f, p, (float16)(6.931470037e-1f));
    p = fma16(f, p, (float16)(1.0f));
    return WIDE(p * as_float16(as_int16(shifted) << 23));
}
