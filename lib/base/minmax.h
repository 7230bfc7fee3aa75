/* Minimum and maximum of two integers. */
#ifndef CLF_BASE_MINMAX_H
#define CLF_BASE_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline int clf__max_int(int a, int b)
{
    return a > b ? a : b;
}

static inline int clf__min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline size_t clf__min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t clf__max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline int64_t clf__max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t clf__min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
