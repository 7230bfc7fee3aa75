/* Prefetch hints into the first-level cache (for the next access) or the second-level cache (for a later one).
 * Include file, not a program.
 *
 * PoCL's prefetch() does nothing. SPIR has no other hint, and NVIDIA's compiler rejects global pointers in
 * the built-in function. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FETCH_TO_READ(p)  __builtin_prefetch(p, 0, 3)
#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1, 3)
#define FETCH_SOON(p)     __builtin_prefetch(p, 0, 2)
#else
#define FETCH_TO_READ(p)  prefetch(p, 16)
#define FETCH_TO_WRITE(p) prefetch(p, 16)
#define FETCH_SOON(p)     prefetch(p, 16)
#endif
