/* The steps of a block's sums over a panel, and the prefetches in each step. Include file, not a program. */
#include "include/block.cl"

/* The index of this block among the blocks of rows that use a panel in turn, and the share of the next panel
 * that each block except the first prefetches, in units of 64 bytes. */
struct turn {
    uint number, share;
};

static inline struct turn first_turn(int rows)
{
    uint others = (uint)(rows - 1) / BLOCK_ROWS;
    struct turn turn = {0, others > 0 ? (63 + others) / others : 0};
    return turn;
}

/* The prefetches of a block, with a fixed number of bytes per step. Panels are read from memory in order. The
 * first block may read a panel that is not cached yet: if it reads half of each line, it prefetches the other
 * half. The other blocks share the prefetch of the next panel. */
struct soon {
    const __global uchar *at;
    size_t step;
};

static inline struct soon soon_of(struct turn turn, const __global uchar *panel, uint line, int depth, int pass, int passes)
{
    struct soon soon = {panel, 0};
    if (turn.number > 0) {
        soon.step = turn.share * (line / passes) / 64;
        soon.at = panel + depth * (line + (passes * (turn.number - 1) + pass) * soon.step);
    } else if (passes > 1 && (pass == 0 || turn.share == 0)) {
        soon.step = line;
        soon.at = pass == 0 ? panel + line / 2 : panel + (size_t)depth * line;
    }
    return soon;
}

/* For fewer than BLOCK_ROWS rows, the distance in bytes at which a panel is prefetched ahead of the
 * multiplications; 0: the hardware prefetches far enough. */
#ifndef FETCH_AHEAD
#define FETCH_AHEAD 0
#endif

/* Runs the statement, which adds the products of the block of columns starting at c, for k = 0 .. depth - 1. It
 * reads the panel starting at element k * PANEL. */
#define FOR_STEPS(ROWS, COUNT, c, k, depth, panel, turn, statement)                                                    \
    {                                                                                                                  \
        struct soon soon = soon_of(turn, (const __global uchar *)(panel), PANEL * sizeof *(panel), depth,              \
                                   (c) / (COUNT * VECTOR_LANES), PANEL / (COUNT * VECTOR_LANES));                      \
        for (int k = 0; k < depth; k++) {                                                                              \
            if (ROWS > 2) {                                                                                            \
                FETCH_SOON(soon.at);                                                                                   \
                soon.at += soon.step;                                                                                  \
            }                                                                                                          \
            for (uint at = 0; FETCH_AHEAD > 0 && ROWS < BLOCK_ROWS && (c) == 0 && at < PANEL * sizeof *(panel); at += 64) { \
                FETCH_SOON((const __global uchar *)((panel) + (size_t)k * PANEL) + FETCH_AHEAD + at);                  \
            }                                                                                                          \
            statement                                                                                                  \
        }                                                                                                              \
    }
