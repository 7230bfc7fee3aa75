/* How the work-groups of a GEMM share its rows. Include file, not a program. */

/* Returns the first row of a group. The block counts of groups differ by at most one: a short last group
 * would make PoCL's threads finish at different times, because a thread takes several groups at once toward the
 * end. */
static inline int first_row(int rows, int group, int groups)
{
    long blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return (int)(blocks * group / groups) * BLOCK_ROWS;
}
