/* Samples ids from ranges of rows of logits (R, V), by softmax(logits / temperature) of the range, with the
 * Gumbel-max trick: the sample is the id with the largest value, logit / temperature + g, with Gumbel noise g for
 * each id (Maddison et al. 2014, "A* Sampling", 2). The id with the largest value over several ranges is the sample
 * from all of them, so ranges may be selected after the kernel. Outputs values (D, M), ids (D, M) and, in found (D,
 * M), their logits: (-inf, -1, -inf) if the range has only -inf and NaN.
 *
 * ranges (R, 2 M) = { first, end, first, end ... } as in top_k.cl. draws (D, 6) = { row, sample, count,
 * the key's low and high word, the temperature's bits }; row - first_row is the row of the logits. The
 * noise depends only on sample, count, key and id.
 *
 * No macros. */
#include "include/candidates.cl"
#include "include/philox.cl"

#define ARGUMENTS                                                                                                      \
    __global float *values, int values_offset, int values_stride, __global int *ids, int ids_offset, int ids_stride,   \
        __global float *found, int found_offset, int found_stride, const __global float *logits, int logits_offset,    \
        int logits_stride, const __global int *ranges, int ranges_offset, int ranges_stride,                           \
        const __global int *draws, int draws_offset, int draws_stride, int rows, int columns, int each, int first_row

#define RANDOM_SAMPLES 0x7fffff03u /* CLF__RANDOM_SAMPLES */

/* The parameters of a draw and its row of logits. */
struct draw {
    uint sample, count, seed_low, seed_high;
    float inverse; /* 1 / temperature */
    size_t row;
};

static inline struct draw draw_of(const __global int *words, int first_row)
{
    struct draw draw;
    draw.row = (size_t)(words[0] - first_row);
    draw.sample = (uint)words[1];
    draw.count = (uint)words[2];
    draw.seed_low = (uint)words[3];
    draw.seed_high = (uint)words[4];
    draw.inverse = fmin(1.0f / as_float(words[5]), 1e30f); /* finite, and so is the product with a logit */
    return draw;
}

#define COUNTER_OF(draw) (draw).sample, (draw).count, RANDOM_SAMPLES, (draw).seed_low, (draw).seed_high

/* Adds the Gumbel noise -log(-log(1 - u)), u = (word + 1/2) / 2^32: this form is accurate for small u, which
 * give large noise. */
static inline float perturbed(float logit, float inverse, uint word)
{
    float u = fmin(fma((float)word, 0x1p-32f, 0x1p-33f), 0x1.fffffep-1f);
    return fma(logit, inverse, -log(-log1p(-u)));
}

/* The largest possible noise: -log(2^-33) = 22.87. */
#define MOST_ADDED 23.0f

/* The largest value so far. */
struct drawn {
    float value, logit;
    int id;
};

/* Columns c .. c + 15 of a row, -inf outside the range. */
#define load_range(x, c, range) (wide_load_range(x, c, range).v)
static inline struct wide wide_load_range(const __global float *x, int c, struct range range)
{
    float lanes[16];
    if (c >= range.first && c + 16 <= range.first + range.count) {
        return WIDE(vload16(0, x + c));
    }
    for (int i = 0; i < 16; i++) {
        lanes[i] = c + i >= range.first && c + i < range.first + range.count ? x[c + i] : -INFINITY;
    }
    return WIDE(vload16(0, lanes));
}

/* Returns whether any of 16 words may give a value above the largest one so far, if the logits are `below` that
 * value: -log(u) > -below is necessary, because g < -log(u). The answer may also be true for NaN. */
static inline int may_win(const uint16 *words, const float16 *below)
{
    float16 threshold = exp16(*below < 0.0f ? *below : (float16)(0.0f)) * 1.0001f;
    int16 is_under = convert_float16(*words) * 0x1p-32f <= threshold;
    return any(is_under.lo | is_under.hi);
}

static inline void take_lanes(struct drawn *drawn, const uint16 *words, const float16 *logits, float inverse, int c)
{
    uint word_of[16];
    float logit_of[16];
    vstore16(*words, 0, word_of);
    vstore16(*logits, 0, logit_of);
    for (int i = 0; i < 16; i++) {
        float value = perturbed(logit_of[i], inverse, word_of[i]);
        if (value > drawn->value) {
            drawn->value = value;
            drawn->logit = logit_of[i];
            drawn->id = c + i;
        }
    }
}

/* Skips most blocks because of their logits, and most others because of their words, without a logarithm. */
static inline struct drawn draw_from(const __global float *x, struct range range, struct draw draw)
{
    struct drawn drawn = {-INFINITY, -INFINITY, -1};
    for (int c = range.first / 32 * 32; c < range.first + range.count; c += 32) {
        float16 logits[2], below[2];
        uint16 words[2];
        for (int i = 0; i < 2; i++) {
            logits[i] = load_range(x, c + 16 * i, range);
            below[i] = fma16(logits[i], (float16)(draw.inverse), (float16)(-drawn.value));
        }
        if (max16(fmax16(below[0], below[1])) < -MOST_ADDED) {
            continue;
        }
        philox_half_block(words, (uint)c / 4, COUNTER_OF(draw));
        for (int i = 0; i < 2; i++) {
            if (may_win(&words[i], &below[i])) {
                take_lanes(&drawn, &words[i], &logits[i], draw.inverse, c + 16 * i);
            }
        }
    }
    return drawn;
}

/* A group processes one range at a time. */
CPU_KERNEL void draw_forward_cpu(ARGUMENTS)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        size_t d = (size_t)(n / each);
        int m = n % each;
        struct draw draw = draw_of(draws + draws_offset + d * draws_stride, first_row);
        struct range range = range_of(ranges + ranges_offset + draw.row * ranges_stride + 2 * m, columns);
        struct drawn drawn = draw_from(logits + logits_offset + draw.row * logits_stride, range, draw);
        values[values_offset + d * values_stride + m] = drawn.value;
        ids[ids_offset + d * ids_stride + m] = drawn.id;
        found[found_offset + d * found_stride + m] = drawn.logit;
    }
}

/* Inlined early: later inlining leaves an alias intrinsic that Oclgrind does not know. */
static inline __attribute__((always_inline)) ulong key_in_range(const __global float *x, struct range range, float inverse,
                                                                int id, uint word)
{
    int is_inside = id >= range.first && id < range.first + range.count;
    return is_inside ? key_of(perturbed(x[id], inverse, word), id) : 0;
}

/* Returns the largest key of the work-item's columns, which are assigned in quads. */
static inline ulong first_of_range(const __global float *x, struct range range, struct draw draw)
{
    ulong first = 0;
    for (int c = range.first / 4 * 4 + (int)get_local_id(0) * 4; c < range.first + range.count; c += QUADS) {
        uint4 words = philox_quad((uint)c / 4, COUNTER_OF(draw));
        first = max(first, key_in_range(x, range, draw.inverse, c, words.x));
        first = max(first, key_in_range(x, range, draw.inverse, c + 1, words.y));
        first = max(first, key_in_range(x, range, draw.inverse, c + 2, words.z));
        first = max(first, key_in_range(x, range, draw.inverse, c + 3, words.w));
    }
    return first;
}

/* A group processes one range at a time. */
GPU_KERNEL void draw_forward_gpu(ARGUMENTS, __local ulong *keys)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        size_t d = (size_t)(n / each);
        int m = n % each;
        struct draw draw = draw_of(draws + draws_offset + d * draws_stride, first_row);
        struct range range = range_of(ranges + ranges_offset + draw.row * ranges_stride + 2 * m, columns);
        const __global float *x = logits + logits_offset + draw.row * logits_stride;
        ulong first = group_max_key(keys, first_of_range(x, range, draw));
        if (get_local_id(0) == 0) {
            values[values_offset + d * values_stride + m] = value_of(first);
            ids[ids_offset + d * ids_stride + m] = first ? id_of(first) : -1;
            found[found_offset + d * found_stride + m] = first ? x[id_of(first)] : -INFINITY;
        }
    }
}
