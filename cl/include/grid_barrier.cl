/* A barrier over all groups of a launch, which must all be resident. Needs PTX (MATRIX_NV80) or OpenCL C 3.0 with
 * device-scope acquire and release (HAS_DEVICE_ATOMICS) or, without them, that a trial has shown that the atomic functions of
 * OpenCL C 1.2 and mem_fence() suffice (HAS_FENCED_ATOMICS).
 *
 * Groups count their arrivals in one counter, which is never reset. The number of reads in a wait is limited: a
 * group that exceeds the limit sets a flag and leaves, and so do all groups that see the flag. */
#if defined(MATRIX_NV80)
static inline void add_release(__global uint *to, uint n)
{
    __asm__ volatile("fence.acq_rel.gpu;\n\tred.relaxed.gpu.global.add.u32 [%0], %1;" : : "l"(to), "r"(n) : "memory");
}
static inline uint add_both(__global uint *to, uint n)
{
    uint before;
    __asm__ volatile("fence.acq_rel.gpu;\n\tatom.relaxed.gpu.global.add.u32 %0, [%1], %2;\n\tfence.acq_rel.gpu;"
                     : "=r"(before) : "l"(to), "r"(n) : "memory");
    return before;
}
static inline uint load_relaxed(const __global uint *from)
{
    uint value;
    __asm__ volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
static inline void store_relaxed(__global uint *to, uint value)
{
    __asm__ volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}
#define ACQUIRE_FENCE __asm__ volatile("fence.acq_rel.gpu;" : : : "memory")
#elif defined(HAS_DEVICE_ATOMICS)
#define AS_ATOMIC(p) ((volatile __global atomic_uint *)(p))
static inline void add_release(__global uint *to, uint n)
{
    atomic_fetch_add_explicit(AS_ATOMIC(to), n, memory_order_release, memory_scope_device);
}
static inline uint add_both(__global uint *to, uint n)
{
    return atomic_fetch_add_explicit(AS_ATOMIC(to), n, memory_order_acq_rel, memory_scope_device);
}
static inline uint load_relaxed(const __global uint *from)
{
    return atomic_load_explicit(AS_ATOMIC(from), memory_order_relaxed, memory_scope_device);
}
static inline void store_relaxed(__global uint *to, uint value)
{
    atomic_store_explicit(AS_ATOMIC(to), value, memory_order_relaxed, memory_scope_device);
}
#define ACQUIRE_FENCE atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device)
#elif defined(HAS_FENCED_ATOMICS)
#define AS_COUNTER(p) ((volatile __global uint *)(p))
#define ITEM_FENCE    mem_fence(CLK_GLOBAL_MEM_FENCE)
static inline void add_release(__global uint *to, uint n)
{
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_add(AS_COUNTER(to), n);
}
static inline uint add_both(__global uint *to, uint n)
{
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    uint before = atomic_add(AS_COUNTER(to), n);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return before;
}
static inline uint load_relaxed(const __global uint *from) /* the first-level cache may answer a plain load */
{
    return atomic_add(AS_COUNTER(from), 0);
}
static inline void store_relaxed(__global uint *to, uint value)
{
    atomic_xchg(AS_COUNTER(to), value);
}
#define ACQUIRE_FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)
#else
#error "the device has no atomics across groups"
#endif

#ifndef ITEM_FENCE /* for each work-item before and after a barrier of its group */
#define ITEM_FENCE
#endif

#ifdef __x86_64__
#define PAUSE __asm__ volatile("pause")
#elif defined(__aarch64__)
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE
#endif

struct grid_barrier {
    __global uint *arrived, *failed;
    __local int *is_over; /* flag of the group */
    int most_looks;
};

/* Counts the arrival of the group and releases its writes. */
static inline void arrive(const struct grid_barrier *at)
{
    ITEM_FENCE;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    ITEM_FENCE;
    ITEM_FENCE;
    if (get_local_id(0) == 0) {
        add_release(at->arrived, 1);
    }
}

/* After arrive(): waits until the counter reaches `target`. Returns nonzero if a group stopped waiting; then all
 * must leave. Otherwise loads see what other groups wrote before they arrived, except loads through a read-only
 * cache; with HAS_FENCED_ATOMICS only loads from FRESH memory (prelude.cl). fails: stop waiting, for tests. */
static inline int wait_for_groups(const struct grid_barrier *at, uint target, int fails)
{
    if (get_local_id(0) == 0) {
        int looks = fails ? 0 : at->most_looks, is_over = 0;
        while (!is_over && (fails || (int)(load_relaxed(at->arrived) - target) < 0)) {
            is_over = looks <= 0 || (looks % 64 == 0 && load_relaxed(at->failed) != 0);
            looks--;
            PAUSE;
        }
        if (is_over) {
            store_relaxed(at->failed, 1);
        }
        ACQUIRE_FENCE;
        *at->is_over = is_over;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *at->is_over;
}

/* Each of `count` groups that contribute to one result must call this after writing its contribution. Returns
 * whether this group is the last one, which then sees all contributions. The counter is 0 before the first call
 * and after the last one. With a count of 0 nothing is counted and no group is the last one: all groups reach the
 * barriers here, because PoCL 3.1 fails if a condition surrounds them. */
static inline int is_last_group(__global uint *counter, uint count, __local int *answer)
{
    ITEM_FENCE;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        int is_last = count > 0 && add_both(counter, 1) + 1 == count;
        if (is_last) {
            store_relaxed(counter, 0);
        }
        *answer = is_last;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *answer;
}
