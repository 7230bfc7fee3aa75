/* The rows of average.cl and ssru.cl. Include file, not a program. */

/* The rows of states that a step continues and stores, or null. */
struct states {
    const __global float *from;
    __global float *to;
};

/* from: row `parent` of `before`; to: row `own` of `next`. Both have `rows` rows; rows outside do not exist. */
static inline struct states find_states(const __global float *before, int before_stride, int parent, __global float *next,
                                        int next_stride, int own, int rows)
{
    struct states states = {parent >= 0 && parent < rows ? before + (size_t)parent * before_stride : 0,
                            own >= 0 && own < rows ? next + (size_t)own * next_stride : 0};
    return states;
}

/* The rows first .. end - 1 of a sequence, clipped to the matrix. */
struct sequence {
    int first, end;
};

/* range: the first row and the number of rows. */
static inline struct sequence find_sequence(const __global int *range, int rows)
{
    struct sequence sequence = {max(range[0], 0), min(range[0] + range[1], rows)};
    return sequence;
}
