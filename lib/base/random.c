#include "base/random.h"

enum { ROUNDS = 10 };

void clf__philox(uint32_t words[4], const uint32_t counter[4], uint64_t key)
{
    uint32_t w0 = counter[0], w1 = counter[1], w2 = counter[2], w3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < ROUNDS; i++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        uint64_t first = (uint64_t)0xd2511f53u * w0, second = (uint64_t)0xcd9e8d57u * w2;
        w0 = (uint32_t)(second >> 32) ^ w1 ^ k0;
        w1 = (uint32_t)second;
        w2 = (uint32_t)(first >> 32) ^ w3 ^ k1;
        w3 = (uint32_t)first;
    }
    words[0] = w0;
    words[1] = w1;
    words[2] = w2;
    words[3] = w3;
}

double clf__random_unit(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

void clf__shuffle(int *items, int count, uint64_t seed, enum clf__random_use use, uint32_t round)
{
    for (int i = count - 1; i > 0; i--) {
        uint32_t words[4];
        clf__philox(words, (const uint32_t[4]){(uint32_t)i, 0, round, (uint32_t)use}, seed);
        int other = (int)(clf__random_unit(words[0], words[1]) * (i + 1));
        int item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}
