#include "base/checksum.h"

#include <string.h>

/* Eight bytes a step; each step is reversible, so damage within one step always shows. */
uint64_t clf__checksum(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t sum = 0xcbf29ce484222325ULL ^ size;
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
