/* How the work-groups of a GEMM share its rows. This file is included; it is not a program. */

/* The first row of a group if the groups share the rows: groups have equal numbers of blocks, or differ by
 * one. A short last group would make PoCL's threads finish at different times, because a thread takes more
 * groups at once the later they come. */
static inline int first_row(int rows, int group, int groups)
{
    long blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return (int)(blocks * group / groups) * BLOCK_ROWS;
}
