/* The larger and the smaller of two numbers. */
#ifndef CLF_BASE_LARGER_H
#define CLF_BASE_LARGER_H

#include <stddef.h>
#include <stdint.h>

static inline int clf__larger(int a, int b)
{
    return a > b ? a : b;
}

static inline int clf__smaller(int a, int b)
{
    return a < b ? a : b;
}

static inline size_t clf__smaller_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t clf__larger_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline int64_t clf__larger_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t clf__smaller_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
