/* Hints to fetch what is needed next into the first cache, or soon into the second. Included, never built alone.
 *
 * PoCL's prefetch() does nothing, and SPIR has no other. */
#if defined(__SPIR__) || defined(__SPIR64__) || defined(__SPIRV__)
#define FETCH_TO_READ(p)  prefetch(p, 16)
#define FETCH_TO_WRITE(p) prefetch(p, 16)
#define FETCH_SOON(p)     prefetch(p, 16)
#else
#define FETCH_TO_READ(p)  __builtin_prefetch(p, 0, 3)
#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1, 3)
#define FETCH_SOON(p)     __builtin_prefetch(p, 0, 2)
#endif
