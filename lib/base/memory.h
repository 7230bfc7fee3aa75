/* The only allocator of the library; tests can make allocations fail. */
#ifndef CLF_BASE_MEMORY_H
#define CLF_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Allocates count * size zeroed bytes into *out; overflow and exhaustion are CLF_OUT_OF_MEMORY. A request
 * for zero bytes returns a valid pointer. `out` is the address of any object pointer. */
clf_status clf__allocate(void *out, size_t count, size_t size);

/* Resizes *out (NULL or from clf__allocate) to count * size bytes; *out is unchanged on failure. New bytes
 * are not zeroed. */
clf_status clf__resize(void *out, size_t count, size_t size);

/* Makes space for one more item in a list of `count` items: doubles *capacity if the list is full. *items
 * is NULL or from clf__allocate(). Both are unchanged on failure. */
clf_status clf__grow(void *items, int count, int *capacity, size_t size);

/* Like clf__grow(), for several new items: if *capacity is smaller than `needed`, the new capacity is 2 *
 * `needed`. */
clf_status clf__grow_to(void *items, size_t needed, size_t *capacity, size_t size);

/* Copy a string, or `length` bytes; the caller frees *out. */
clf_status clf__copy_string(char **out, const char *string);
clf_status clf__copy_bytes(char **out, const char *bytes, size_t length); /* appends a NUL */

/* Format a string, which the caller frees. clf__append() adds to the end of *text; its arguments must not
 * point into *text. */
clf_status clf__format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
clf_status clf__append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees memory; NULL is ignored. */
void clf__free(void *pointer);

/* Advises the system to use large pages for memory that is read sequentially. Call before the first write. */
void clf__prefer_large_pages(void *start, size_t bytes);

/* Returns the number of bytes that are available without swapping (MemAvailable in /proc/meminfo); 0 if
 * unknown. */
uint64_t clf__available_memory(void);

/* Returns the default stack size of new threads. */
size_t clf__thread_stack_bytes(void);

/* For tests: makes the n-th allocation from now fail (1 = the next; 0 = none), and counts allocations
 * since then. */
void clf__memory_fail_at(uint64_t n);
uint64_t clf__memory_count(void);

#endif
