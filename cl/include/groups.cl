/* How groups of a product share its rows. Included, never built alone. */

/* Where the rows of a group begin that shares all rows with others: it takes as many blocks as they do, or one fewer. A last
 * group of a few rows would let PoCL's threads end far apart: the later a group, the more of them a thread takes at once. */
static inline int first_row(int rows, int group, int groups)
{
    long blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return (int)(blocks * group / groups) * BLOCK_ROWS;
}
