/* The one allocator of the library, which can fail on purpose. */
#ifndef CLF_BASE_MEMORY_H
#define CLF_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Allocates count * size zeroed bytes into *out; overflow and exhaustion are CLF_OUT_OF_MEMORY. A request of
 * zero bytes gives a valid pointer. `out` is the address of any object pointer. */
clf_status clf__allocate(void *out, size_t count, size_t size);

/* Resizes *out (NULL or from clf__allocate) to count * size bytes; on failure *out is untouched. New bytes
 * are not zeroed. */
clf_status clf__resize(void *out, size_t count, size_t size);

/* Makes room in a list, *items (NULL or from clf__allocate) with room for *capacity, for one more than
 * `count`: twice as much where it is full. On failure both are as they were. */
clf_status clf__grow(void *items, int count, int *capacity, size_t size);

/* The same of what grows by several at a time: room for `needed`, or for twice as many where there was less.
 */
clf_status clf__grow_to(void *items, size_t needed, size_t *capacity, size_t size);

/* A copy of a string, or of its first length bytes; the caller frees it. */
clf_status clf__copy_string(char **out, const char *string);
clf_status clf__copy_bytes(char **out, const char *bytes, size_t length); /* NUL-terminated */

/* A formatted string; the caller frees it. Append writes one after what *text holds already, which no
 * argument points into. */
clf_status clf__format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
clf_status clf__append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees; NULL is ignored. */
void clf__free(void *pointer);

/* Asks the system for large pages under memory that is read from end to end, before it is first written. Only
 * a hint. */
void clf__prefer_large_pages(void *start, size_t bytes);

/* Bytes that the system can give to programs without swapping, MemAvailable of /proc/meminfo; 0 if unknown.
 */
uint64_t clf__available_memory(void);

/* The stack that a new thread of this process has unless whoever makes it says otherwise. */
size_t clf__thread_stack_bytes(void);

/* Tests: make the n-th allocation from now fail (1 = the next; 0 = none), and count those since. */
void clf__memory_fail_at(uint64_t n);
uint64_t clf__memory_count(void);

#endif
