/* Hashes and checksums. */
#ifndef CLF_BASE_HASH_H
#define CLF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 (Aumasson and Bernstein 2012). */
uint64_t clf__siphash(const uint64_t key[2], const void *bytes, size_t size);

/* The same with a random key of this process: the result must not be stored or shown. For tables whose
 * keys come from files: a fixed hash can be made to collide on purpose, which makes lookups quadratic in
 * the size of the table. */
uint64_t clf__hash(const void *bytes, size_t size);

/* FNV-1a (Fowler, Noll, Vo 1991) of internal data: the same in every process. Continues a hash; the first
 * one is CLF__FNV_BEGIN. */
#define CLF__FNV_BEGIN 0xcbf29ce484222325ULL
uint64_t clf__fnv(uint64_t hash, const void *bytes, size_t size);

/* A checksum detects damage, not malice. It is stored in files, so its definition never changes on a
 * machine. */
uint64_t clf__checksum(const void *bytes, size_t size);
/* The same in chunks: of `size` bytes in all; the size of every chunk but the last is a multiple of 8. */
uint64_t clf__checksum_begin(uint64_t size);
uint64_t clf__checksum_add(uint64_t sum, const void *bytes, size_t size);

#endif
