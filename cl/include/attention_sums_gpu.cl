/* The weighted sums of some keys of a query, GPU variant of attention_step.cl: a group holds all columns, and sums
 * over different keys are joined. Included by attention_step_gpu.cl; not a program. */

/* The sums of some keys in the work-item's columns, item + i * ITEMS. */
#define ITEM_COLUMNS ((VALUE_WIDTH + ITEMS - 1) / ITEMS)
struct part_sums {
    float columns[ITEM_COLUMNS];
    float total, maximum;
};

static inline void begin_sums(struct part_sums *sums)
{
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        sums->columns[i] = 0.0f;
    }
    sums->maximum = -INFINITY;
    sums->total = 0.0f;
}

/* Returns the number to subtract from the scores: the maximum, but 0 instead of -inf, which makes weights 0 and
 * not NaN. */
static inline float subtracted_of(float maximum)
{
    return maximum == -INFINITY ? 0.0f : maximum;
}

/* Joins two sums; exact if one of them has seen no key. */
static inline void join_sums(struct part_sums *to, const struct part_sums *part)
{
    float maximum = fmax(to->maximum, part->maximum), subtracted = subtracted_of(maximum);
    float factor = exp(to->maximum - subtracted), part_factor = exp(part->maximum - subtracted);
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        to->columns[i] = to->columns[i] * factor + part->columns[i] * part_factor;
    }
    to->total = to->total * factor + part->total * part_factor;
    to->maximum = maximum;
}

static inline void store_sums(__global float *partial, const struct part_sums *sums)
{
    int item = (int)get_local_id(0);
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        if (item + i * ITEMS < VALUE_WIDTH) {
            partial[item + i * ITEMS] = sums->columns[i];
        }
    }
    if (item == 0) {
        partial[VALUE_OCTETS * 8] = sums->maximum;
        partial[VALUE_OCTETS * 8 + 1] = sums->total;
    }
}

static inline void load_sums(struct part_sums *sums, const __global float *partial)
{
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        sums->columns[i] = partial[min((int)get_local_id(0) + i * ITEMS, VALUE_WIDTH - 1)];
    }
    sums->maximum = partial[VALUE_OCTETS * 8];
    sums->total = partial[VALUE_OCTETS * 8 + 1];
}

static inline void store_output(__global result_element *y, const struct part_sums *all)
{
#pragma unroll
    for (int i = 0; i < ITEM_COLUMNS; i++) {
        int d = (int)get_local_id(0) + i * ITEMS;
        if (d < VALUE_WIDTH) {
            store_result(all->total == 0.0f ? 0.0f : all->columns[i] * (1.0f / all->total), y + d);
        }
    }
}
