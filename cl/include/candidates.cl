/* Sorted lists of candidates: included, never built alone. */

/* Puts a value larger than the last one of a sorted list into its place, after those that equal it. */
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
