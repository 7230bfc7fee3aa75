/* The only allocator of the library, with allocation failures for tests. */
#ifndef CLF_BASE_MEMORY_H
#define CLF_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Allocates count * size zeroed bytes into *out; overflow and exhaustion are CLF_OUT_OF_MEMORY. A request of
 * zero bytes gives a valid pointer. `out` is the address of any object pointer. */
clf_status clf__allocate(void *out, size_t count, size_t size);

/* Resizes *out (NULL or from clf__allocate) to count * size bytes; *out is unchanged on failure. New bytes
 * are not zeroed. */
clf_status clf__resize(void *out, size_t count, size_t size);

/* Grows a list, *items (NULL or from clf__allocate) with space for *capacity items, for one more than
 * `count`: doubles the capacity if it is full. Both are unchanged on failure. */
clf_status clf__grow(void *items, int count, int *capacity, size_t size);

/* The same for a list that grows by several items: reserves `needed`, or twice as many if the capacity was
 * smaller. */
clf_status clf__grow_to(void *items, size_t needed, size_t *capacity, size_t size);

/* A copy of a string, or of its first length bytes; the caller frees it. */
clf_status clf__copy_string(char **out, const char *string);
clf_status clf__copy_bytes(char **out, const char *bytes, size_t length); /* NUL-terminated */

/* A formatted string; the caller frees it. Append writes after the present content of *text; arguments
 * must not point into *text. */
clf_status clf__format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
clf_status clf__append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees; NULL is ignored. */
void clf__free(void *pointer);

/* Asks the system for large pages for memory that is read sequentially, before it is first written. Only a
 * hint. */
void clf__prefer_large_pages(void *start, size_t bytes);

/* Bytes that the system can give to programs without swapping: MemAvailable of /proc/meminfo; 0 if
 * unknown. */
uint64_t clf__available_memory(void);

/* The default stack size of a new thread of this process. */
size_t clf__thread_stack_bytes(void);

/* For tests: makes the n-th allocation from now fail (1 = the next; 0 = none), and counts allocations
 * since then. */
void clf__memory_fail_at(uint64_t n);
uint64_t clf__memory_count(void);

#endif
