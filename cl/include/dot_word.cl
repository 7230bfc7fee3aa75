/* Dot products of words of four signed bytes, for GPU variants. Include file, not a program. */

/* acc + the dot product of the bytes of q and w. Sums stay below 128 * 127 * 2^16, so the saturating built-in,
 * which every compiler with the extension has, does not saturate. */
static inline int dot_word(int acc, int q, int w)
{
#if defined(HAS_DP4A) /* NVIDIA's compiler provides this instruction only through assembly */
    int sum;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(q), "r"(w), "r"(acc));
    return sum;
#elif defined(HAS_INTEGER_DOT_PRODUCT) && defined(__opencl_c_integer_dot_product_input_4x8bit)
    return dot_acc_sat(as_char4(q), as_char4(w), acc);
#elif defined(__GFX11__) && __clang_major__ < 16 /* LLVM crashes when it selects that instruction itself */
    return __builtin_amdgcn_sudot4(true, q, true, w, acc, false);
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) ||     \
    defined(__gfx942__) || defined(__gfx1011__) || defined(__gfx1012__) || defined(__gfx1030__) || defined(__gfx1031__) ||   \
    defined(__gfx1032__) || defined(__gfx1033__) || defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
    return __builtin_amdgcn_sdot4(q, w, acc, false);
#else
    char4 a = as_char4(q), b = as_char4(w);
    return acc + a.s0 * b.s0 + a.s1 * b.s1 + a.s2 * b.s2 + a.s3 * b.s3; /* one instruction, if the compiler
                                                                         * recognises it */
#endif
}
