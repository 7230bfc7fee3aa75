#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/little_endian.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(struct state *s, int rounds)
{
    while (rounds-- > 0) {
        s->v0 += s->v1;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v2 = rotate(s->v2, 32);
    }
}

static void absorb(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s, 2);
    s->v0 ^= word;
}

uint64_t clf__siphash(const uint64_t key[2], const void *bytes, size_t size)
{
    struct state s = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                      key[1] ^ 0x7465646279746573};
    const uint8_t *next = bytes;
    size_t left = size;
    for (; left >= 8; next += 8, left -= 8) {
        absorb(&s, clf__read_number(next, 8));
    }
    absorb(&s, clf__read_number(next, left) | (uint64_t)size << 56);
    s.v2 ^= 0xFF;
    mix(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static uint64_t process_key[2];

static void draw_key(void)
{
    if (getrandom(process_key, sizeof process_key, GRND_NONBLOCK) == (ssize_t)sizeof process_key) {
        return;
    }
    /* Fallback if the system has no entropy yet; this key can be guessed. */
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    process_key[0] = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
    process_key[1] = (uint64_t)getpid() << 32 ^ (uintptr_t)&now;
}

uint64_t clf__hash(const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, draw_key);
    return clf__siphash(process_key, bytes, size);
}

uint64_t clf__fnv(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ next[i]) * 0x100000001b3ULL;
    }
    return hash;
}

uint64_t clf__checksum_begin(uint64_t size)
{
    return 0xcbf29ce484222325ULL ^ size;
}

/* Processes eight bytes per step. Each step is reversible, so damage within one step always changes the
 * checksum. */
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
