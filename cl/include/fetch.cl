/* Hints to fetch what is needed next into the first cache, or soon into the second. Included, never built alone.
 *
 * PoCL's prefetch() does nothing. Where a compiler does not aim at a processor, SPIR has no other, and NVIDIA's refuses a
 * pointer to global memory in the built-in one. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FETCH_TO_READ(p)  __builtin_prefetch(p, 0, 3)
#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1, 3)
#define FETCH_SOON(p)     __builtin_prefetch(p, 0, 2)
#else
#define FETCH_TO_READ(p)  prefetch(p, 16)
#define FETCH_TO_WRITE(p) prefetch(p, 16)
#define FETCH_SOON(p)     prefetch(p, 16)
#endif
