/* Matrix multiplications with AMX, whose registers are tiles of 16 rows of 64 bytes: one instruction adds, for 16
 * rows of x and 16 outputs, the products of 16 groups of inputs: four int8 or two bf16 inputs each. Panels are stored
 * in the layout of the instruction. Include file, not a program.
 *
 * In bf16 the sum of each element is, over the P pairs of inputs in parts of 16, acc += (chain of fma over the low
 * halves of the part, starting at 0) + (likewise over the high halves); numbers below 2^-126 count as zero.
 *
 * Tiles 0 to 3 hold the sums of 32 rows and the 32 outputs of a panel, 4 and 5 the rows of x, 6 and 7 the
 * groups of the panel.
 *
 * Needs TILE_PRODUCT, the multiply instruction, as LLVM's assembler names it. */
#include "math/gemm/layout.h"
#include "include/fetch.cl"

#define TILE_ROWS   16
#define TILE_DEPTH  16 /* groups */
#define TILE_LINE   ((size_t)4 * PANEL) /* bytes between groups of a panel, and between rows of sums */
#define MOST_TILED  (2 * TILE_ROWS)
#define TILE_FETCH  2048 /* bytes of a panel that the multiplications of the first rows prefetch */

/* The sums of rows of x times a panel, which tiles compute before blocks of rows finish them. */
struct tiled {
    uint *room;       /* (MOST_TILED, 32) */
    int at;           /* the first row that is not finished */
    int rows;         /* rows whose sums are in room */
    const uint *sums; /* sums of the next block of rows; 0 if tiles did not compute them */
    int set_rows, set_groups; /* sizes for which the tiles are configured, 0 at first */
};

/* The operand of the instruction ldtilecfg. */
struct tile_shapes {
    uchar palette, first_row, reserved[14];
    ushort row_bytes[16]; /* bytes per row of each tile, followed by the number of rows */
    uchar rows[16];
};

static inline void begin_tiled(struct tiled *tiled, uint *room)
{
    tiled->room = room;
    tiled->sums = 0;
    tiled->at = tiled->rows = tiled->set_rows = tiled->set_groups = 0;
}

/* Configures the tiles for that many rows of x and groups. A change of shape clears them. */
static inline void set_tiles(struct tiled *tiled, int rows, int groups)
{
    if (tiled->set_rows == rows && tiled->set_groups == groups) {
        return;
    }
    struct tile_shapes shapes = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        int is_below = tile == 2 || tile == 3 || tile == 5;
        shapes.row_bytes[tile] = tile == 4 || tile == 5 ? 4 * groups : 64;
        shapes.rows[tile] = tile >= 6 ? groups : is_below ? max(rows - TILE_ROWS, 1) : min(rows, TILE_ROWS);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
    tiled->set_rows = rows;
    tiled->set_groups = groups;
}

/* With STORE_TILE for MOVE, writes the sums of that many rows from the tiles to `sums`; with LOAD_TILE,
 * reads them back. */
#define MOVE_SUMS(MOVE, sums, rows)                                                                                    \
    __asm__ volatile(MOVE("0", "(%0, %1)") MOVE("1", "64(%0, %1)") : : "r"(sums), "r"(TILE_LINE) : "memory");          \
    if ((rows) > TILE_ROWS) {                                                                                          \
        __asm__ volatile(MOVE("2", "(%0, %1)") MOVE("3", "64(%0, %1)")                                                 \
                         :                                                                                             \
                         : "r"((sums) + TILE_ROWS * PANEL), "r"(TILE_LINE)                                             \
                         : "memory");                                                                                  \
    }
#define LOAD_TILE(tile, place)  "tileloadd " place ", %%tmm" tile "\n\t"
#define STORE_TILE(tile, place) "tilestored %%tmm" tile ", " place "\n\t"

/* sums += rows of x times the panel at the address `panel`, for the groups for which the tiles are
 * configured. */
static inline void add_groups(const __global uchar *x, size_t pitch, int rows, ulong panel)
{
    __asm__ volatile("tileloadd (%0, %1), %%tmm4\n\t"
                     "tileloadd (%2, %3), %%tmm6\n\t" TILE_PRODUCT " %%tmm6, %%tmm4, %%tmm0\n\t"
                     "tileloadd 64(%2, %3), %%tmm7\n\t" TILE_PRODUCT " %%tmm7, %%tmm4, %%tmm1"
                     :
                     : "r"(x), "r"(pitch), "r"(panel), "r"(TILE_LINE)
                     : "memory");
    if (rows > TILE_ROWS) {
        __asm__ volatile("tileloadd (%0, %1), %%tmm5\n\t" TILE_PRODUCT " %%tmm6, %%tmm5, %%tmm2\n\t" TILE_PRODUCT
                         " %%tmm7, %%tmm5, %%tmm3"
                         :
                         : "r"(x + TILE_ROWS * pitch), "r"(pitch)
                         : "memory");
    }
}

/* room = `rows` rows of x times a panel of that many groups. `panel`: the address in global or private
 * memory. `fetches`: these are the first rows that use the panel, so it is prefetched during the
 * multiplications. */
static inline void multiply_tiles(struct tiled *tiled, const __global uchar *x, size_t pitch, int rows, ulong panel, int groups,
                                  int fetches)
{
    int whole = groups / TILE_DEPTH * TILE_DEPTH;
    set_tiles(tiled, rows, TILE_DEPTH);
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory");
    for (int g = 0; g < whole; g += TILE_DEPTH) {
        for (size_t i = 0; fetches && i < TILE_DEPTH * TILE_LINE; i += 64) {
            FETCH_SOON((const __global uchar *)(panel + g * TILE_LINE + TILE_FETCH + i));
        }
        add_groups(x + 4 * g, pitch, rows, panel + g * TILE_LINE);
    }
    MOVE_SUMS(STORE_TILE, tiled->room, rows)
    if (whole < groups) {
        set_tiles(tiled, rows, groups - whole);
        MOVE_SUMS(LOAD_TILE, tiled->room, rows)
        add_groups(x + 4 * whole, pitch, rows, panel + whole * TILE_LINE);
        MOVE_SUMS(STORE_TILE, tiled->room, rows)
    }
}

/* Precedes each block of rows, x being the first of `left` remaining rows: computes the sums of the next
 * MOST_TILED rows when the previous ones are finished, if at least `least` are left, and sets tiled->sums. */
static inline void reach_tiled(struct tiled *tiled, const __global uchar *x, size_t pitch, int left,
                                      const __global uchar *panel, int groups, int least)
{
    if (tiled->at >= tiled->rows) {
        tiled->at = tiled->rows = 0;
        if (left >= least) {
            tiled->rows = min(left, MOST_TILED);
            multiply_tiles(tiled, x, pitch, tiled->rows, (ulong)panel, groups, tiled->set_rows == 0);
        }
    }
    tiled->sums = tiled->rows > 0 ? tiled->room + tiled->at * PANEL : 0;
    tiled->at += BLOCK_ROWS;
}

/* Releases the tiles, which makes thread switches faster. */
static inline void end_tiled(const struct tiled *tiled)
{
    if (tiled->set_rows > 0) {
        __asm__ volatile("tilerelease" ::: "memory");
    }
}
