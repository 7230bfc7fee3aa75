#include "reference/philox.h"

void reference_philox(uint32_t words[4], const uint32_t counter[4], uint64_t key)
{
    uint32_t low_key = (uint32_t)key, high_key = (uint32_t)(key >> 32);
    for (int i = 0; i < 4; i++) {
        words[i] = counter[i];
    }
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)0xd2511f53u * words[0], second = (uint64_t)0xcd9e8d57u * words[2];
        words[0] = (uint32_t)(second >> 32) ^ words[1] ^ low_key;
        words[2] = (uint32_t)(first >> 32) ^ words[3] ^ high_key;
        words[1] = (uint32_t)second;
        words[3] = (uint32_t)first;
        low_key += 0x9e3779b9u;
        high_key += 0xbb67ae85u;
    }
}

double reference_dropout_factor(uint32_t row, uint32_t column, uint64_t seed, uint32_t step, uint32_t site,
                                float rate)
{
    const uint32_t counter[4] = {column / 4, row, step, site};
    uint32_t words[4];
    reference_philox(words, counter, seed);
    return words[column % 4] < (double)rate * 4294967296.0 ? 0.0 : 1.0 / (1.0 - (double)rate);
}
