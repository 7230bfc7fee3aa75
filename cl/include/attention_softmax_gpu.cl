/* The part of attention_blocks_gpu.cl between its two multiplications (included by it, not a program): masks the
 * scores of a tile and turns them into weights, with a running maximum and sum (online softmax). Each query has
 * four work-items with 16 keys each. */

#define PART (KEYS / 4)

/* A work-item's place in its group, and the local memory of the group. */
struct place {
    int item, query, key;   /* the work-item computes the weights of `query` for the keys starting at `key` */
    __local float *stage;   /* a chunk of queries and keys, or of values */
    __local float *weights; /* (KEYS, QUERIES): scores, then weights, of a tile */
    __local float *own;     /* the weights that the work-item computes, QUERIES apart */
    __local float *parts;   /* one number per work-item */
    __local float *shares;  /* one factor per query */
};

/* memory: STAGE + KEYS * QUERIES + ITEMS + QUERIES floats. */
static inline struct place place_in(__local float4 *memory)
{
    struct place at = {.item = ITEM, .query = ITEM % QUERIES, .key = ITEM / QUERIES * PART};
    at.stage = (__local float *)memory;
    at.weights = at.stage + STAGE;
    at.own = at.weights + at.key * QUERIES + at.query;
    at.parts = at.weights + KEYS * QUERIES;
    at.shares = at.parts + ITEMS;
    return at;
}

/* The query whose weights a work-item computes, the last key that it sees, and its masks: hidden, bias (of the
 * head) and terms (of the query) may be null. */
struct view {
    int query, last, reach;
    const __global int *hidden;
    const __global float *bias, *terms;
};

/* Adds the masks to the scores of one query for a part's keys, starting at `key`. Scores are multiplied by
 * log2(e). */
static inline void mask_part(__local float *scores, int key, const struct view *view)
{
#pragma unroll 1
    for (int j = 0; j < PART; j++, key++) {
        float score = -INFINITY;
        if (key <= view->last && !(view->hidden && view->hidden[key])) {
            score = scores[j * QUERIES];
            if (view->bias) {
                score = fma(M_LOG2E_F, view->bias[clamp(key - view->query + view->reach, 0, 2 * view->reach)], score);
            }
            if (view->terms) {
                score = fma(M_LOG2E_F, view->terms[key], score);
            }
        }
        scores[j * QUERIES] = score;
    }
}

#define FOUR_KEYS(scores)                                                                                              \
    (float4)((scores)[0], (scores)[QUERIES], (scores)[2 * QUERIES], (scores)[3 * QUERIES])

static inline float find_largest(const __local float *scores)
{
    float4 largest = -INFINITY;
#pragma unroll
    for (int j = 0; j < PART; j += 4) {
        largest = fmax(largest, FOUR_KEYS(scores + j * QUERIES));
    }
    return max4(largest);
}

/* scores = 2^(scores - subtracted); returns their sum. */
static inline float weigh_part(__local float *scores, float subtracted)
{
    float4 sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < PART; j += 4, scores += 4 * QUERIES) {
        float4 below = FOUR_KEYS(scores) - subtracted;
        float4 weights = (float4)(EXP2(below.x), EXP2(below.y), EXP2(below.z), EXP2(below.w));
        sum += weights;
        scores[0] = weights.x;
        scores[QUERIES] = weights.y;
        scores[2 * QUERIES] = weights.z;
        scores[3 * QUERIES] = weights.w;
    }
    return sum4(sum);
}

#ifdef HAS_DROPOUT
/* Drops weights of a part's keys, starting at `key`; row is the query's row in the mask. */
static inline void drop_part(__local float *weights, int key, int row, DROPOUT_ARGUMENTS)
{
#pragma unroll 1
    for (int j = 0; j < PART; j += 4, weights += 4 * QUERIES) {
        float4 kept = dropout_quad((key + j) / 4, row, DROPOUT_NAMES);
        weights[0] *= kept.x;
        weights[QUERIES] *= kept.y;
        weights[2 * QUERIES] *= kept.z;
        weights[3 * QUERIES] *= kept.w;
    }
}
#endif

/* The values of the four work-items of a query; `place` is one of them. */
#define PARTS_OF(parts, place)                                                                                         \
    (float4)((parts)[place], (parts)[place + QUERIES], (parts)[place + 2 * QUERIES], (parts)[place + 3 * QUERIES])

/* A query's maximum so far, and the sum of the weights of a work-item's part of all tiles. */
struct running {
    float maximum, total;
};

/* Updates the maximum of a query with the largest scores in at->parts, and stores the factor of its earlier sums
 * in at->shares. Returns the number to subtract from the scores: 0 for a query that has seen no key yet, which
 * makes the weights 0 and not NaN. */
static inline float raise_maximum(struct running *running, const struct place *at)
{
    float largest = fmax(running->maximum, max4(PARTS_OF(at->parts, at->query)));
    float subtracted = largest == -INFINITY ? 0.0f : largest;
    float factor = EXP2(running->maximum - subtracted);
    running->maximum = largest;
    running->total *= factor;
    if (at->item < QUERIES) {
        at->shares[at->item] = factor;
    }
    return subtracted;
}
