/* Hashes and checksums. */
#ifndef CLF_BASE_HASH_H
#define CLF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 (Aumasson and Bernstein 2012). */
uint64_t clf__siphash(const uint64_t key[2], const void *bytes, size_t size);

/* The same with a key that this process drew at random: nothing that is kept or shown may depend on it. For
 * tables whose keys come from files: a fixed hash can be made to collide on purpose, and then the time that a
 * table takes grows with the square of its size. */
uint64_t clf__hash(const void *bytes, size_t size);

/* FNV-1a (Fowler, Noll, Vo 1991) of what is our own: the same in every process. Goes on from a hash; the
 * first one is CLF__FNV_BEGIN. */
#define CLF__FNV_BEGIN 0xcbf29ce484222325ULL
uint64_t clf__fnv(uint64_t hash, const void *bytes, size_t size);

/* A checksum finds damage, not malice. It is kept in files, so for the same bytes it never changes on a
 * machine. */
uint64_t clf__checksum(const void *bytes, size_t size);
/* The same piece by piece: of `size` bytes in all, where every piece but the last has a multiple of 8. */
uint64_t clf__checksum_begin(uint64_t size);
uint64_t clf__checksum_add(uint64_t sum, const void *bytes, size_t size);

#endif
