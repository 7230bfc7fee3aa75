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

/* The same for columns 64 * block .. 64 * block + 63, 16 a vector. */
static inline void dropout_block(float16 *factors, int block, int row, DROPOUT_ARGUMENTS)
{
    uint16 w0 = (uint16)((uint)block * 16) + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint16 w1 = (uint16)((uint)row), w2 = (uint16)(step), w3 = (uint16)(site);
    uint k0 = seed_low, k1 = seed_high;
#pragma unroll
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        PHILOX_ROUND(uint16, w0, w1, w2, w3, k0, k1)
    }
#define PHILOX_WORDS(l) w0.s##l, w1.s##l, w2.s##l, w3.s##l
#define PHILOX_FACTORS(a, b, c, d)                                                                                     \
    select((float16)(kept_scale), (float16)(0.0f),                                                                     \
           as_int16((uint16)(PHILOX_WORDS(a), PHILOX_WORDS(b), PHILOX_WORDS(c), PHILOX_WORDS(d)) < (uint16)(threshold)))
    factors[0] = PHILOX_FACTORS(0, 1, 2, 3);
    factors[1] = PHILOX_FACTORS(4, 5, 6, 7);
    factors[2] = PHILOX_FACTORS(8, 9, a, b);
    factors[3] = PHILOX_FACTORS(c, d, e, f);
#undef PHILOX_FACTORS
#undef PHILOX_WORDS
}
