/* Checksums of bytes. */
#ifndef CLF_BASE_CHECKSUM_H
#define CLF_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Finds damage, not malice. It is kept in files, so for the same bytes it never changes on a machine. */
uint64_t clf__checksum(const void *bytes, size_t size);
/* The same piece by piece: of `size` bytes in all, where every piece but the last has a multiple of 8. */
uint64_t clf__checksum_begin(uint64_t size);
uint64_t clf__checksum_add(uint64_t sum, const void *bytes, size_t size);

#endif
