/* Hashes and checksums. */
#ifndef CLF_BASE_HASH_H
#define CLF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 (Aumasson and Bernstein 2012). */
uint64_t clf__siphash(const uint64_t key[2], const void *bytes, size_t size);

/* SipHash with a random key per process, for hash tables with keys from files: an attacker cannot
 * construct collisions. The result must not be stored or printed. */
uint64_t clf__hash(const void *bytes, size_t size);

/* Continues an FNV-1a hash (Fowler, Noll, Vo 1991), for trusted data; every process gets the same result.
 * Start with CLF__FNV_BEGIN. */
#define CLF__FNV_BEGIN 0xcbf29ce484222325ULL
uint64_t clf__fnv(uint64_t hash, const void *bytes, size_t size);

/* A checksum that detects damage, not tampering. It is stored in files, so its definition must not
 * change. */
uint64_t clf__checksum(const void *bytes, size_t size);
/* Computes clf__checksum() of `size` bytes in chunks; the size of each chunk except the last must be a
 * multiple of 8. */
uint64_t clf__checksum_begin(uint64_t size);
uint64_t clf__checksum_add(uint64_t sum, const void *bytes, size_t size);

#endif
