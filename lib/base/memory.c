#define _DEFAULT_SOURCE /* madvise() */

#include "base/memory.h"

#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_uint_fast64_t allocations;  /* since clf__memory_fail_at() */
static atomic_uint_fast64_t failing_turn; /* index of the allocation that fails; 0: none */

void clf__memory_fail_at(uint64_t n)
{
    atomic_store(&failing_turn, 0);
    atomic_store(&allocations, 0);
    atomic_store(&failing_turn, n);
}

uint64_t clf__memory_count(void)
{
    return atomic_load(&allocations);
}

/* Like realloc(), but counts calls, detects overflow, and returns a valid pointer for zero bytes. */
static clf_status resize(void **pointer, size_t count, size_t size)
{
    uint64_t turn = atomic_fetch_add(&allocations, 1) + 1;
    size_t bytes = 0;
    void *resized = NULL;
    if (turn != atomic_load(&failing_turn) && !__builtin_mul_overflow(count, size, &bytes)) {
        resized = realloc(*pointer, bytes ? bytes : 1);
    }
    if (!resized) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %zu x %zu bytes", count, size);
    }
    *pointer = resized;
    return CLF_OK;
}

clf_status clf__allocate(void *out, size_t count, size_t size)
{
    void *pointer = NULL;
    clf_status status = resize(&pointer, count, size);
    if (status == CLF_OK) {
        memset(pointer, 0, count * size);
    }
    memcpy(out, &pointer, sizeof pointer);
    return status;
}

clf_status clf__resize(void *out, size_t count, size_t size)
{
    void *pointer;
    memcpy(&pointer, out, sizeof pointer);
    CLF__TRY(resize(&pointer, count, size));
    memcpy(out, &pointer, sizeof pointer);
    return CLF_OK;
}

clf_status clf__grow(void *items, int count, int *capacity, size_t size)
{
    enum { FIRST = 16 };
    if (count < *capacity) {
        return CLF_OK;
    }
    if (*capacity > (INT_MAX - FIRST) / 2) {
        return clf__fail(CLF_OUT_OF_MEMORY, "a list of %d items has reached its maximum size", count);
    }
    int more = 2 * *capacity + FIRST;
    CLF__TRY(clf__resize(items, (size_t)more, size));
    *capacity = more;
    return CLF_OK;
}

clf_status clf__grow_to(void *items, size_t needed, size_t *capacity, size_t size)
{
    if (needed <= *capacity) {
        return CLF_OK;
    }
    size_t more = needed > SIZE_MAX / 2 ? needed : 2 * needed;
    CLF__TRY(clf__resize(items, more, size));
    *capacity = more;
    return CLF_OK;
}

clf_status clf__copy_string(char **out, const char *string)
{
    return clf__copy_bytes(out, string, strlen(string));
}

clf_status clf__copy_bytes(char **out, const char *bytes, size_t length)
{
    CLF__TRY(clf__allocate(out, length + 1, 1));
    if (length) {
        memcpy(*out, bytes, length);
    }
    return CLF_OK;
}

/* Appends after the first `kept` bytes of *text. */
static clf_status format_after(char **text, size_t kept, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "invalid format string \"%s\"", format);
    }
    CLF__TRY(clf__resize(text, kept + (size_t)length + 1, 1));
    vsnprintf(*text + kept, (size_t)length + 1, format, arguments);
    return CLF_OK;
}

clf_status clf__format(char **out, const char *format, ...)
{
    *out = NULL;
    va_list arguments;
    va_start(arguments, format);
    clf_status status = format_after(out, 0, format, arguments);
    va_end(arguments);
    return status;
}

clf_status clf__append(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    clf_status status = format_after(text, strlen(*text), format, arguments);
    va_end(arguments);
    return status;
}

void clf__free(void *pointer)
{
    free(pointer);
}

uint64_t clf__available_memory(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "MemAvailable: %20llu kB", &kib) != 1) {
    }
    if (file != NULL) {
        fclose(file);
    }
    return 1024 * (uint64_t)kib;
}

size_t clf__thread_stack_bytes(void)
{
    enum { LEAST = 1 << 20 }; /* fallback: the smallest default of supported systems */
    pthread_attr_t usual;
    size_t bytes = 0;
    if (pthread_attr_init(&usual) == 0) {
        (void)pthread_attr_getstacksize(&usual, &bytes); /* bytes stays 0 on failure */
        pthread_attr_destroy(&usual);
    }
    return bytes > 0 ? bytes : LEAST;
}

void clf__prefer_large_pages(void *start, size_t bytes)
{
    /* Round outwards to whole pages: a large page may span adjacent allocations. */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)start / page * page;
    uintptr_t end = ((uintptr_t)start + bytes + page - 1) / page * page;
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* fails on systems without large pages */
}
