/* Candidates, their sorted lists, and the ranges of columns that they are taken from. Include file, not a program. */

/* Inserts a value larger than the last one into a sorted list, after equal values. */
static void insert(__global float *values, __global int *ids, int k, float value, int id)
{
    int at = k - 1;
    for (; at > 0 && values[at - 1] < value; at--) {
        values[at] = values[at - 1];
        ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
}

static void clear(__global float *values, __global int *ids, int k)
{
    for (int i = 0; i < k; i++) {
        values[i] = -INFINITY;
        ids[i] = -1;
    }
}

/* A range of columns of a row. */
struct range {
    int first, count;
};

/* Returns the columns ends[0] .. ends[1] - 1, clipped to the row. */
static inline struct range range_of(const __global int *ends, int columns)
{
    struct range range;
    range.first = clamp(ends[0], 0, columns);
    range.count = clamp(ends[1], range.first, columns) - range.first;
    return range;
}

/* Encodes a value and its column as a number with the order of candidates: by value, ties (also 0 and -0) by
 * ascending id. Returns 0, no candidate, for -inf and NaN. */
static inline ulong key_of(float value, int id)
{
    uint bits = value == 0.0f ? 0 : as_uint(value); /* not value + 0.0f, which Mesa simplifies to value */
    uint ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return value > -INFINITY ? (ulong)ordered << 32 | (uint)~id : 0;
}

static inline int id_of(ulong key)
{
    return (int)~(uint)key;
}

static inline float value_of(ulong key)
{
    uint ordered = (uint)(key >> 32);
    return key ? as_float(ordered >> 31 ? ordered & 0x7fffffffu : ~ordered) : -INFINITY;
}

/* Returns the largest key of the group to every work-item. */
DEFINE_GROUP_REDUCTION(group_max_key, ulong, max)
