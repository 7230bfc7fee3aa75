/* The states of a group's rows in projection.cl: sums of exponentials, bans, the best candidates, and the merge of
 * the blocks' states. Included by projection.cl; not a program. */

struct ban_list {
    const __global int *ids, *offsets;
    int count;
};

static inline int first_ban(const struct ban_list *banned, int row)
{
    return max(banned->offsets[row], 0);
}

static inline int end_ban(const struct ban_list *banned, int row)
{
    return min(banned->offsets[row + 1], banned->count);
}

static inline uint panel_bit(int id, int first_panel)
{
    int panel = id / PANEL - first_panel;
    return id >= 0 && panel >= 0 && panel < BLOCK_PANELS ? 1u << panel : 0u;
}

/* The state of a group for its rows. */
struct row_states {
    float16 sums[MOST_ROWS];
    float bases[MOST_ROWS];
    float thresholds[MOST_ROWS]; /* logits up to this are no candidates and keep the base */
    float lasts[MOST_ROWS]; /* k-th best value so far */
    float16 best[MOST_ROWS]; /* the k best values, preceded by +inf, if k is at most 16 */
    int16 best_ids[MOST_ROWS];
    float suppressed[MOST_ROWS], suppressed_largest[MOST_ROWS];
    uint marks[MOST_ROWS]; /* panels with a banned id or the label */
};

static void begin_block(struct row_states *states, int i)
{
    states->sums[i] = 0.0f;
    states->bases[i] = -INFINITY;
    states->thresholds[i] = -INFINITY;
    states->suppressed[i] = 0.0f;
    states->suppressed_largest[i] = -INFINITY;
    states->marks[i] = 0;
}

/* Returns whether a comparison is true in any lane, in a form for which compilers select the right instruction. */
#define ANY(v)                                                                                                         \
    (((v).s0 | (v).s1 | (v).s2 | (v).s3 | (v).s4 | (v).s5 | (v).s6 | (v).s7 | (v).s8 | (v).s9 | (v).sa | (v).sb |      \
      (v).sc | (v).sd | (v).se | (v).sf) != 0)

#define LANES (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* Returns the first column above the threshold; 32 if there is none. */
#define first_above(left, right, bar) wide_first_above(WIDE(left), WIDE(right), bar)
static inline int wide_first_above(struct wide left, struct wide right, float bar)
{
    int16 at = left.v > bar ? LANES : right.v > bar ? LANES + 16 : (int16)(PANEL);
    int8 a = min(at.lo, at.hi);
    int4 b = min(a.lo, a.hi);
    int2 c = min(b.lo, b.hi);
    return min(c.x, c.y);
}

/* exp(x) for x <= 20, and 1e-38 for all x below -87; NaN stays NaN. */
#define exp_of(x) near_exp16((x) < -87.0f ? (float16)(-87.0f) : (x))

/* Sets the logits of the banned ids of a panel to -inf. A repeated id has no effect. */
static void suppress_banned(struct row_states *states, int i, float *logits, int column, const struct ban_list *banned, int row)
{
    for (int b = first_ban(banned, row); b < end_ban(banned, row); b++) {
        int at = banned->ids[b] - column;
        if (banned->ids[b] < 0 || at < 0 || at >= PANEL) {
            continue;
        }
        float logit = logits[at], largest = states->suppressed_largest[i];
        logits[at] = -INFINITY;
        if (logit > largest) {
            states->suppressed[i] = states->suppressed[i] * exp(largest - logit) + 1.0f;
            states->suppressed_largest[i] = logit;
        } else if (logit != -INFINITY) { /* including NaN */
            states->suppressed[i] += exp(logit - largest);
        }
    }
}

/* Like insert(), for a list in a vector: lanes before the value stay, later lanes move by one. */
static inline void insert_short(float16 *values, int16 *ids, float value, int id)
{
    float16 v = *values, moved = (float16)(INFINITY, v.s0123, v.s4567, v.s89ab, v.scde);
    int16 d = *ids, moved_ids = (int16)(-1, d.s0123, d.s4567, d.s89ab, d.scde);
    *values = v >= value ? v : moved >= value ? (float16)(value) : moved;
    *ids = v >= value ? d : moved >= value ? (int16)(id) : moved_ids;
}

static inline void store_last(const float16 *best, const int16 *best_ids, __global float *values, __global int *ids, int k)
{
    float lanes[SHORT_LIST];
    int id_lanes[SHORT_LIST];
    vstore16(*best, 0, lanes);
    vstore16(*best_ids, 0, id_lanes);
    for (int n = 0; n < k; n++) {
        values[n] = lanes[SHORT_LIST - k + n];
        ids[n] = id_lanes[SHORT_LIST - k + n];
    }
}

/* Processes a panel with a logit above the threshold, in ascending order of ids, to keep ties in order. */
#define raise_threshold(states, i, left, right, column, values, ids, k)                                                \
    wide_raise_threshold(states, i, WIDE(left), WIDE(right), column, values, ids, k)
static void wide_raise_threshold(struct row_states *states, int i, struct wide first, struct wide second, int column,
                                 __global float *values, __global int *ids, int k)
{
    float16 left = first.v, right = second.v;
    float logits[PANEL];
    vstore16(left, 0, logits);
    vstore16(right, 1, logits);
    float last = states->lasts[i], base = states->bases[i];
    float16 largest = fmax16(left, right);
    for (int at = first_above(left, right, last); at < PANEL; at = first_above(left, right, last)) {
        if (k <= SHORT_LIST) {
            insert_short(&states->best[i], &states->best_ids[i], logits[at], column + at);
            last = states->best[i].sf;
        } else {
            insert(values, ids, k, logits[at], column + at);
            last = values[k - 1];
        }
        left = LANES > at ? left : (float16)(-INFINITY);
        right = LANES + 16 > at ? right : (float16)(-INFINITY);
    }
    if (ANY(largest > base + MOST_ABOVE)) {
        float higher = max16(largest);
        states->sums[i] *= exp(base - higher);
        states->bases[i] = base = higher;
    }
    states->lasts[i] = last;
    states->thresholds[i] = fmin(last, base + MOST_ABOVE);
}

/* Returns the sum over the blocks of sums[b] * exp(bases[b] - largest), in a fixed order. */
static float merged(const __global float *sums, const __global float *bases, float largest, int blocks)
{
    float16 sum = 0.0f;
    for (int b = 0; b < blocks; b += 16) {
        int count = min(16, blocks - b);
        sum += load_part(sums + b, count, 0.0f) * exp16(load_part(bases + b, count, -INFINITY) - largest);
    }
    return sum16(sum);
}

/* Turns the state of a row into its result: best (k), best_ids (k) and statistics (4), see top_k.cl. */
static void merge_row(__global float *best, __global int *best_ids, __global float *answer,
                      const __global float *partial, const __global int *found_ids, int blocks, int lists, int k, int both)
{
    const __global float *found = partial + 4 * blocks;
    clear(best, best_ids, k);
    for (int list = 0; list < lists; list++) {
        for (int i = list * k; i < (list + 1) * k && found[i] > best[k - 1]; i++) {
            insert(best, best_ids, k, found[i], found_ids[i]);
        }
    }
    float largest = best[0];
    float sum = merged(partial + blocks, partial, largest > -INFINITY ? largest : 0.0f, blocks); /* NaN in any case */
    answer[0] = answer[2] = largest;
    answer[1] = answer[3] = log(sum);
    float all = largest;
    for (int b = 0; both && b < blocks; b++) {
        all = fmax(all, partial[3 * blocks + b]);
    }
    if (both && all > -INFINITY) {
        float suppressed = merged(partial + 2 * blocks, partial + 3 * blocks, all, blocks);
        answer[0] = all;
        answer[1] = log((largest > -INFINITY ? sum * exp(largest - all) : sum) + suppressed);
    }
}
