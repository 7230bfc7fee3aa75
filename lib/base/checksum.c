#include "base/checksum.h"

#include <string.h>

uint64_t clf__checksum_begin(uint64_t size)
{
    return 0xcbf29ce484222325ULL ^ size;
}

/* Eight bytes a step; each step is reversible, so damage within one step always shows. */
uint64_t clf__checksum_add(uint64_t sum, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0) {
        uint64_t word = 0;
        size_t step = size < sizeof word ? size : sizeof word;
        memcpy(&word, at, step);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 32;
        at += step;
        size -= step;
    }
    return sum;
}

uint64_t clf__checksum(const void *bytes, size_t size)
{
    return clf__checksum_add(clf__checksum_begin(size), bytes, size);
}
