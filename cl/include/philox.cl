/* Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3") and dropout with it. Include
 * file, not a program. Element (row, column) is dropped if word column % 4 of the block with counter { column / 4,
 * row, step, site } is below the threshold, rate * 2^32. */
#define PHILOX_ROUNDS 10

/* The parameters of a mask as kernel arguments, and their names. */
#define DROPOUT_ARGUMENTS uint threshold, float kept_scale, uint seed_low, uint seed_high, uint step, uint site
#define DROPOUT_NAMES     threshold, kept_scale, seed_low, seed_high, step, site

/* One round: two words of a block are multiplied, then the words are permuted. */
#define PHILOX_ROUND(T, w0, w1, w2, w3, k0, k1)                                                                        \
    {                                                                                                                  \
        T high0 = mul_hi((T)(0xd2511f53u), w0), low0 = (T)(0xd2511f53u) * w0;                                          \
        T high1 = mul_hi((T)(0xcd9e8d57u), w2), low1 = (T)(0xcd9e8d57u) * w2;                                          \
        w0 = high1 ^ w1 ^ (T)(k0);                                                                                     \
        w1 = low1;                                                                                                     \
        w2 = high0 ^ w3 ^ (T)(k1);                                                                                     \
        w3 = low0;                                                                                                     \
    }

/* Selects a block of random words: the counter except its first word, and the key. */
#define PHILOX_ARGUMENTS uint row, uint step, uint site, uint seed_low, uint seed_high

/* Returns the words of columns 4 * quad .. 4 * quad + 3. */
static inline uint4 philox_quad(uint quad, PHILOX_ARGUMENTS)
{
    uint w0 = quad, w1 = row, w2 = step, w3 = site, k0 = seed_low, k1 = seed_high;
#pragma unroll
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        PHILOX_ROUND(uint, w0, w1, w2, w3, k0, k1)
    }
    return (uint4)(w0, w1, w2, w3);
}

/* Returns the factors, 0 or kept_scale, of columns 4 * quad .. 4 * quad + 3 of a row. */
static inline float4 dropout_quad(int quad, int row, DROPOUT_ARGUMENTS)
{
    uint4 words = philox_quad((uint)quad, (uint)row, step, site, seed_low, seed_high);
    return (float4)(words.x < threshold ? 0.0f : kept_scale, words.y < threshold ? 0.0f : kept_scale,
                    words.z < threshold ? 0.0f : kept_scale, words.w < threshold ? 0.0f : kept_scale);
}

/* Sixteen Philox blocks are computed as two times eight, with each word in the low half of 64 bits: a product then
 * has its high word above its low word. Other contents of the high halves are not used. */
#define PHILOX_LOW(w) ((w) & 0xffffffffUL)
#define PHILOX_WIDE_ROUND(w0, w1, w2, w3, k0, k1)                                                                      \
    {                                                                                                                  \
        ulong8 first = PHILOX_LOW(w0) * 0xd2511f53UL, second = PHILOX_LOW(w2) * 0xcd9e8d57UL;                          \
        w0 = (second >> 32) ^ w1 ^ (ulong)(k0);                                                                        \
        w1 = second;                                                                                                   \
        w2 = (first >> 32) ^ w3 ^ (ulong)(k1);                                                                         \
        w3 = first;                                                                                                    \
    }

/* Computes the words of columns 4 * quad .. 4 * quad + 31, 16 per vector. Quads are computed in the order 0, 4, 1,
 * 5, 2, 6, 3, 7. */
static inline __attribute__((always_inline)) void philox_half_block(uint16 *words, uint quad, PHILOX_ARGUMENTS)
{
    ulong8 w0 = (ulong)quad + (ulong8)(0, 4, 1, 5, 2, 6, 3, 7), w1 = (ulong8)((ulong)row);
    ulong8 w2 = (ulong8)((ulong)step), w3 = (ulong8)((ulong)site);
    uint k0 = seed_low, k1 = seed_high;
#pragma unroll
    for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        PHILOX_WIDE_ROUND(w0, w1, w2, w3, k0, k1)
    }
    ulong8 a = PHILOX_LOW(w0) | w1 << 32, b = PHILOX_LOW(w2) | w3 << 32;
    words[0] = as_uint16((ulong8)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6));
    words[1] = as_uint16((ulong8)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7));
}

/* Computes the factors of columns 64 * block .. 64 * block + 63, 16 per vector. */
static inline void dropout_block(float16 *factors, int block, int row, DROPOUT_ARGUMENTS)
{
    for (int h = 0; h < 2; h++) { /* halves */
        uint16 words[2];
        philox_half_block(words, (uint)block * 16 + (uint)h * 8, (uint)row, step, site, seed_low, seed_high);
        for (int i = 0; i < 2; i++) {
            factors[2 * h + i] = words[i] < (uint16)(threshold) ? (float16)(0.0f) : (float16)(kept_scale);
        }
    }
}
