/* Queues of tiles that the groups of a launch share: a group takes the next tiles of a queue until none is left, then
 * waits for the tiles of other groups. CPU variant; needs OpenCL C 3.0 with device-scope acquire and release.
 *
 * Counters are a cache line apart, all zero before and after a launch: the groups that left, then the tiles taken and
 * the tiles done of each queue. */
static inline __global atomic_int *counter_of(__global atomic_int *counters, int i)
{
    return counters + i * 16;
}

static inline __global atomic_int *taken_of(__global atomic_int *counters, int queue)
{
    return counter_of(counters, 1 + 2 * queue);
}

static inline __global atomic_int *done_of(__global atomic_int *counters, int queue)
{
    return counter_of(counters, 2 + 2 * queue);
}

static inline int add_to(__global atomic_int *counter, int n)
{
    return atomic_fetch_add_explicit(counter, n, memory_order_acq_rel, memory_scope_device);
}

#ifdef __x86_64__
#define RELAX __asm__ volatile("pause")
#elif defined(__aarch64__)
#define RELAX __asm__ volatile("yield")
#else
#define RELAX
#endif

/* The tiles that a group takes at once. */
struct tile_range {
    int first, end;
};

/* Takes the next tiles; none are left if `first` is `tiles`. The first portions are large, because sequential
 * reads are fastest and each portion costs communication between cores; the last ones are small, to make all
 * groups finish at about the same time (guided self-scheduling, Polychronopoulos and Kuck 1987). */
static inline struct tile_range take_tiles(__global atomic_int *counters, int queue, int tiles)
{
    int shares = 2 * (int)get_num_groups(0), first = 0, size = max(1, tiles / shares);
    for (int others = add_to(taken_of(counters, queue), 1); others > 0 && first < tiles; others--) {
        first += size;
        size = max(1, (tiles - first) / shares);
    }
    return (struct tile_range){first, first + size};
}

/* Reports `ready` tiles of this group as done and waits until all tiles are. */
static inline void finish_tiles(__global atomic_int *counters, int queue, int tiles, int ready)
{
    if (ready > 0) {
        add_to(done_of(counters, queue), ready);
    }
    while (atomic_load_explicit(done_of(counters, queue), memory_order_acquire, memory_scope_device) < tiles) {
        RELAX;
    }
}

/* Runs the statement for every tile number `tile` that this group takes from a queue, and waits for the tiles of
 * other groups. */
#define FOR_TILES(counters, queue, tiles, tile, statement)                                                             \
    {                                                                                                                  \
        int ready = 0;                                                                                                 \
        for (struct tile_range range = take_tiles(counters, queue, tiles); range.first < (tiles);                           \
             range = take_tiles(counters, queue, tiles)) {                                                             \
            for (int tile = range.first; tile < range.end; tile++) {                                                   \
                statement;                                                                                             \
            }                                                                                                          \
            ready += range.end - range.first;                                                                          \
        }                                                                                                              \
        finish_tiles(counters, queue, tiles, ready);                                                                   \
    }

/* Leaves the kernel; the last group clears all counters. */
static inline void leave(__global atomic_int *counters, int queues)
{
    if (add_to(counter_of(counters, 0), 1) == (int)get_num_groups(0) - 1) {
        for (int i = 0; i < 1 + 2 * queues; i++) {
            atomic_store_explicit(counter_of(counters, i), 0, memory_order_relaxed, memory_scope_device);
        }
    }
}
