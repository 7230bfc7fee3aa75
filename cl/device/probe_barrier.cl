/* Stresses the waiting of linear_pair.cl on a device without device-scope atomics. In each round, every task of 4 rows by 32
 * columns reads whole rows that the tasks of the previous round have written, counts wrong words, and writes its own words. Two
 * buffers alternate, so a row that a first-level cache holds is soon overwritten by another compute unit. Tasks are taken in
 * order; a group waits only for tasks that running groups have taken.
 *
 * GPU variant only. Needs GROUPS_TOGETHER and HAS_FENCED_ATOMICS. */
#include "include/grid_barrier.cl"
#include "math/ops/arguments.h"

#define ROWS     CLF__BARRIER_ROWS
#define COLUMNS  CLF__BARRIER_COLUMNS
#define TILES    (COLUMNS / CLF__BARRIER_TILE)
#define HOT_ROWS 2 /* rows that all tasks read, so that every first-level cache holds them */

#if ROWS * CLF__BARRIER_TILE != TILE_GROUP
#error "a work-item writes one word"
#endif

/* The word that a round writes; those of successive rounds, rows and columns differ. */
static inline uint word_of(const struct clf__barrier_sizes *sizes, int round, int row, int column)
{
    return (uint)(sizes->seed + round) * 0x9e3779b1u + (uint)row * 0x85ebca77u + (uint)column;
}

/* Returns the number of wrong words in this work-item's part of a row. */
static inline uint count_wrong(const FRESH __global uint *words, const struct clf__barrier_sizes *sizes, int round, int row)
{
    uint wrong = 0;
    for (int column = (int)get_local_id(0); column < COLUMNS; column += TILE_GROUP) {
        wrong += words[row * COLUMNS + column] != word_of(sizes, round, row, column);
    }
    return wrong;
}

/* One group per task and round. words: two buffers of `blocks` times ROWS rows. */
GPU_KERNEL_OF(TILE_GROUP) void probe_barrier_gpu(__local int *answer, __global uint *counters, __global uint *words,
                                                 struct clf__barrier_sizes sizes)
{
    if (get_local_id(0) == 0) {
        *answer = (int)add_both(counters + CLF__BARRIER_TAKEN, 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int number = *answer, tasks = sizes.blocks * TILES, words_of_buffer = sizes.blocks * ROWS * COLUMNS;
    barrier(CLK_LOCAL_MEM_FENCE);
    int round = number / tasks, block = number % tasks / TILES, tile = number % TILES;
    const struct grid_barrier all = {counters + CLF__BARRIER_ARRIVED, counters + CLF__BARRIER_FAILED, answer, sizes.most_looks};
    int leaves = wait_for_groups(&all, (uint)(round * tasks), number == sizes.fails_at);
    if (!leaves) {
        const FRESH __global uint *before = words + (round + 1) % 2 * words_of_buffer;
        int read = round > 0 ? HOT_ROWS + ROWS : 0;
        uint wrong = 0;
        for (int i = 0; i < read; i++) {
            int row = i < HOT_ROWS ? i : (block + round) % sizes.blocks * ROWS + i - HOT_ROWS;
            wrong += count_wrong(before, &sizes, round - 1, row);
        }
        if (wrong > 0) {
            atomic_add((volatile __global uint *)counters + CLF__BARRIER_WRONG, wrong);
        }
        int row = block * ROWS + (int)get_local_id(0) / CLF__BARRIER_TILE;
        int column = tile * CLF__BARRIER_TILE + (int)get_local_id(0) % CLF__BARRIER_TILE;
        words[round % 2 * words_of_buffer + row * COLUMNS + column] =
            word_of(&sizes, round, row, column) ^ (uint)(number == sizes.spoiled_task);
    }
    arrive(&all);
}
