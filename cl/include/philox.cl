/* Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3") and the dropout that it decides:
 * included, never built alone. Element (row, column) is hidden where word column % 4 of the block with counter
 * { column / 4, row, step, site } is below the threshold, rate * 2^32. */
#define PHILOX_ROUNDS 10

/* What decides a mask: the arguments of a kernel that needs one, and their names. */
#define DROPOUT_ARGUMENTS uint threshold, float kept_scale, uint seed_low, uint seed_high, uint step, uint site
#define DROPOUT_NAMES     threshold, kept_scale, seed_low, seed_high, step, site

/* One round: the words of a block change places after two of them were multiplied. */
#define PHILOX_ROUND(T, w0, w1, w2, w3, k0, k1)                                                                        \
    {                                                                                                                  \
        T high0 = mul_hi((T)(0xd2511f53u), w0), low0 = (T)(0xd2511f53u) * w0;                                          \
        T high1 = mul_hi((T)(0xcd9e8d57u), w2), low1 = (T)(0xcd9e8d57u) * w2;                                          \
        w0 = high1 ^ w1 ^ (T)(k0);                                                                                     \
        w1 = low1;                                                                                                     \
        w2 = high0 ^ w3 ^ (T)(k1);                                                                                     \
        w3 = low0;                                                                                                     \
    }

/* Columns 4 * quad .. 4 * quad + 3 of a row: what each is to be multiplied by, 0 or kept_scale. */
static inline float4 dropout_quad(int quad, int row, DROPOUT_ARGUMENTS)
{
    uint w0 = (uint)quad, w1 = (uint)row, w2 = step, w3 = site, k0 = seed_low, k1 = seed_high;
#pragma unroll
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        PHILOX_ROUND(uint, w0, w1, w2, w3, k0, k1)
    }
    return (float4)(w0 < threshold ? 0.0f : kept_scale, w1 < threshold ? 0.0f : kept_scale,
                    w2 < threshold ? 0.0f : kept_scale, w3 < threshold ? 0.0f : kept_scale);
}

/* The same for columns 64 * block .. 64 * block + 63, 16 a vector. Sixteen blocks of Philox are computed as two times
 * eight, in the low halves of 64 bits, where a product leaves its high word above its low one; what else comes to lie in
 * the high halves is never looked at. */
#define PHILOX_LOW(w) ((w) & 0xffffffffUL)
#define PHILOX_WIDE_ROUND(w0, w1, w2, w3, k0, k1)                                                                      \
    {                                                                                                                  \
        ulong8 first = PHILOX_LOW(w0) * 0xd2511f53UL, second = PHILOX_LOW(w2) * 0xcd9e8d57UL;                          \
        w0 = (second >> 32) ^ w1 ^ (ulong)(k0);                                                                        \
        w1 = second;                                                                                                   \
        w2 = (first >> 32) ^ w3 ^ (ulong)(k1);                                                                         \
        w3 = first;                                                                                                    \
    }

/* The factors of words 0 .. 3 of quads first + (0, 4, 1, 5, 2, 6, 3, 7): two vectors in the order of the columns. */
static inline __attribute__((always_inline)) void dropout_half_block(float16 *factors, uint first, int row, DROPOUT_ARGUMENTS)
{
    ulong8 w0 = (ulong)first + (ulong8)(0, 4, 1, 5, 2, 6, 3, 7), w1 = (ulong8)((ulong)(uint)row);
    ulong8 w2 = (ulong8)((ulong)step), w3 = (ulong8)((ulong)site);
    uint k0 = seed_low, k1 = seed_high;
#pragma unroll
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        PHILOX_WIDE_ROUND(w0, w1, w2, w3, k0, k1)
    }
    ulong8 a = PHILOX_LOW(w0) | w1 << 32, b = PHILOX_LOW(w2) | w3 << 32;
    uint16 near = as_uint16((ulong8)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6));
    uint16 far = as_uint16((ulong8)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7));
    factors[0] = near < (uint16)(threshold) ? (float16)(0.0f) : (float16)(kept_scale);
    factors[1] = far < (uint16)(threshold) ? (float16)(0.0f) : (float16)(kept_scale);
}

static inline void dropout_block(float16 *factors, int block, int row, DROPOUT_ARGUMENTS)
{
    dropout_half_block(factors, (uint)block * 16, row, DROPOUT_NAMES);
    dropout_half_block(factors + 2, (uint)block * 16 + 8, row, DROPOUT_NAMES);
}
