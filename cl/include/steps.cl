/* The steps of a block's sums over a panel, and what is fetched meanwhile. Included, never built alone. */
#include "include/block.cl"

/* Which of the blocks of rows that take a panel one after the other, and how much of the next panel each but the first of them
 * fetches: bytes of 64. */
struct turn {
    uint number, share;
};

static inline struct turn first_turn(int rows)
{
    uint others = (uint)(rows - 1) / BLOCK_ROWS;
    struct turn turn = {0, others > 0 ? (63 + others) / others : 0};
    return turn;
}

/* What a block fetches beside its sums, so much a step. Panels come from memory, one after the other. The first block passes
 * over a panel that may not be there yet: where it takes half of each line, it fetches the other half of the line. The other
 * blocks share the next panel, which then costs none of them a wait. */
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

/* How many bytes of a panel lie between what fewer rows than a block has multiply and what they fetch; 0: the processor reads
 * ahead enough by itself. */
#ifndef FETCH_AHEAD
#define FETCH_AHEAD 0
#endif

/* STEP(ROWS, k) for k = 0 .. depth - 1, which begins to read at element k * PANEL of the panel. */
#define FOR_STEPS(ROWS, COUNT, STEP, depth, panel, turn)                                                               \
    {                                                                                                                  \
        struct soon soon = soon_of(turn, (const __global uchar *)(panel), PANEL * sizeof *(panel), depth,              \
                                   c / (COUNT * VECTOR_LANES), PANEL / (COUNT * VECTOR_LANES));                        \
        for (int k = 0; k < depth; k++) {                                                                              \
            if (ROWS > 2) {                                                                                            \
                FETCH_SOON(soon.at);                                                                                   \
                soon.at += soon.step;                                                                                  \
            }                                                                                                          \
            for (uint at = 0; FETCH_AHEAD > 0 && ROWS < BLOCK_ROWS && c == 0 && at < PANEL * sizeof *(panel); at += 64) { \
                FETCH_SOON((const __global uchar *)((panel) + (size_t)k * PANEL) + FETCH_AHEAD + at);                  \
            }                                                                                                          \
            STEP(ROWS, k)                                                                                              \
        }                                                                                                              \
    }
