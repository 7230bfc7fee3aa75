/* Reads and writes little-endian numbers at any address; compilers emit a single load or store. */
#ifndef CLF_BASE_LITTLE_ENDIAN_H
#define CLF_BASE_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t clf__read_16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t clf__read_32(const uint8_t *bytes)
{
    return clf__read_16(bytes) | clf__read_16(bytes + 2) << 16;
}

static inline uint64_t clf__read_64(const uint8_t *bytes)
{
    return clf__read_32(bytes) | (uint64_t)clf__read_32(bytes + 4) << 32;
}

/* Reads a number of at most eight bytes. */
static inline uint64_t clf__read_number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

static inline void clf__write_16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static inline void clf__write_32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline void clf__write_64(uint8_t *bytes, uint64_t value)
{
    clf__write_32(bytes, (uint32_t)value);
    clf__write_32(bytes + 4, (uint32_t)(value >> 32));
}

#endif
