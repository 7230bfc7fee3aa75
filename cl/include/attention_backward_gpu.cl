/* The GPU variant of attention_backward.cl; included by it, not a program. attention_tiles.cl multiplies tiles;
 * here they become weights and their gradients. */

#define WIDEST     (KEY_WIDTH > VALUE_WIDTH ? KEY_WIDTH : VALUE_WIDTH)
#define DOT_WIDTH  WIDEST
#define SUM_WIDTH  WIDEST
#include "include/attention_tiles.cl"

#define SLICES_OF(width) (((width) + SLICE - 1) / SLICE)

/* The head is in local memory, because in registers it would take more space than the sums. PoCL 3.1 loses values
 * without a barrier before the head is written and at the end of each loop over tasks. */
static inline void find_head_together(__local struct backward_head *head, int sequence, int number, BACKWARD_ARGUMENTS)
{
    if (get_local_id(0) == 0) {
        struct backward_head found;
        find_head(&found, sequence, number, BACKWARD_NAMES);
        *head = found;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Computes delta of a query; each of two work-items processes every second column. */
static inline float find_delta(__local float *parts, const __local struct backward_head *head, int query)
{
    int lane = (int)get_local_id(0);
    const __global float *dy = head->dy + (size_t)query * head->dy_stride, *y = head->y + (size_t)query * head->y_stride;
    float sum = 0.0f;
    for (int c = lane % 2; query < head->queries && c < VALUE_WIDTH; c += 2) {
        sum = fma(dy[c], y[c], sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    parts[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    return parts[lane & ~1] + parts[lane | 1];
}

/* Computes P of a query, which must see a key, for four keys starting at `key`. */
static inline float4 find_weights(float4 scores, int query, int key, const __local struct backward_head *head)
{
    int last = head->keys - 1;
    int4 keys = (int4)(key, key + 1, key + 2, key + 3), near = min(keys, (int4)(last));
    int4 is_seen = keys <= (head->causal ? min(query + head->keys - head->queries, last) : last);
    if (head->hidden) {
        const __global int *hidden = head->hidden;
        is_seen &= (int4)(hidden[near.x], hidden[near.y], hidden[near.z], hidden[near.w]) == 0;
    }
    if (head->bias) {
        const __global float *bias = head->bias;
        /* Oclgrind applies scalar bounds only to the first element. */
        int4 place = clamp(keys - query + head->reach, (int4)(0), (int4)(2 * head->reach));
        scores += (float4)(bias[place.x], bias[place.y], bias[place.z], bias[place.w]);
    }
    if (head->terms) {
        const __global float *terms = head->terms + (size_t)query * head->terms_stride;
        scores += (float4)(terms[near.x], terms[near.y], terms[near.z], terms[near.w]);
    }
    float4 weights = exp(scores - head->maxima[query]) / head->totals[query];
    return is_seen ? weights : (float4)(0.0f);
}

/* Computes dS of a query and four keys from dy . v, or P after dropout. */
static inline float4 differentiate_pairs(float4 scores, float4 products, int query, int key, int wants_dscores,
                                         const __local struct backward_head *head COMMA_DROPOUT_ARGUMENTS)
{
    if (query >= head->queries || head->totals[query] == 0.0f) {
        return 0.0f;
    }
    float4 weights = find_weights(scores, query, key, head), kept = 1.0f;
#ifdef HAS_DROPOUT
    int row = (head->first_row + query) * head->heads + head->number;
    kept = dropout_quad(key / 4, row, DROPOUT_NAMES);
#endif
    return weights * (wants_dscores ? fma(products, kept, (float4)(-head->deltas[query])) : kept);
}

/* weights (BLOCK keys, BLOCK queries + 1) = dS, or P after dropout, of the tile's keys and queries. */
static inline __attribute__((always_inline)) void weigh_pairs(__local float *weights, __local float *tiles, int first_query, int first_key,
                               int wants_dscores, const __local struct backward_head *head COMMA_DROPOUT_ARGUMENTS)
{
    int row4 = (int)get_local_id(0) / 8 * 4, column = (int)get_local_id(0) % 8;
    int keys = min(head->keys - first_key, BLOCK), queries = min(head->queries - first_query, BLOCK);
    score_tile(weights, tiles, head->k + (size_t)first_key * head->k_stride, head->k_stride, keys, 1.0f,
               head->q + (size_t)first_query * head->q_stride, head->q_stride, queries, head->scale);
    struct products products = {0.0f, 0.0f, 0.0f, 0.0f};
    if (wants_dscores) {
        products = multiply_tile(tiles, head->v + (size_t)first_key * head->v_stride, head->v_stride, keys, 1.0f,
                                 head->dy + (size_t)first_query * head->dy_stride, head->dy_stride, queries, 1.0f,
                                 VALUE_WIDTH);
    }
    __local float *pairs = weights + row4 * (BLOCK + 1) + column;
    /* Rotates the vectors to make each query the first in turn: unrolled, this loop would use half of the
     * registers. */
#pragma unroll 1
    for (int query = first_query + column; query < first_query + BLOCK; query += 8, pairs += 8) {
        float4 scores = (float4)(pairs[0], pairs[BLOCK + 1], pairs[2 * (BLOCK + 1)], pairs[3 * (BLOCK + 1)]);
        float4 found = differentiate_pairs(
            scores, (float4)(products.s0.x, products.s1.x, products.s2.x, products.s3.x), query, first_key + row4,
            wants_dscores, head COMMA_DROPOUT_NAMES);
        pairs[0] = found.x;
        pairs[BLOCK + 1] = found.y;
        pairs[2 * (BLOCK + 1)] = found.z;
        pairs[3 * (BLOCK + 1)] = found.w;
        products.s0 = products.s0.yzwx;
        products.s1 = products.s1.yzwx;
        products.s2 = products.s2.yzwx;
        products.s3 = products.s3.yzwx;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Computes dk or dv of the keys starting at `first`: sums dS times q, or P after dropout times dy, over the
 * queries that see one of these keys. */
static inline __attribute__((always_inline)) void
add_queries(struct column_sums *sums, __local float *weights, __local float *tiles, int first, int slice,
            int wants_dscores, const __local struct backward_head *head COMMA_DROPOUT_ARGUMENTS)
{
    int tile = head->causal ? max(first - (head->keys - head->queries), 0) / BLOCK * BLOCK : 0;
    for (; tile < head->queries; tile += BLOCK) {
        weigh_pairs(weights, tiles, tile, first, wants_dscores, head COMMA_DROPOUT_NAMES);
        const __global float *rows = wants_dscores ? head->q : head->dy;
        int stride = wants_dscores ? head->q_stride : head->dy_stride, queries = min(head->queries - tile, BLOCK);
        load_slice(tiles, rows + (size_t)tile * stride + slice, stride, queries,
                   (wants_dscores ? KEY_WIDTH : VALUE_WIDTH) - slice);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_tile_rows(sums, weights, BLOCK + 1, 1, tiles, queries);
    }
}

/* Computes dk (if wants_dscores) or dv for the blocks of 32 keys that this group processes. */
static inline __attribute__((always_inline)) void differentiate_keys_gpu(__local struct backward_head *head, __local float *tiles,
                                                                         int wants_dscores, BACKWARD_ARGUMENTS)
{
    __local float *weights = tiles + TILES;
    int width = wants_dscores ? KEY_WIDTH : VALUE_WIDTH;
    int blocks = (max_keys + BLOCK - 1) / BLOCK, slices = SLICES_OF(width);
    int tasks = sequences * heads * blocks * slices;
    for (int task = (int)get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        int slice = task % slices * SLICE, block = task / slices;
        int sequence = block / blocks / heads, first = block % blocks * BLOCK;
        int count = min(ranges[ranges_offset + sequence * 4 + 3] - first, BLOCK);
        if (count <= 0) {
            continue;
        }
        find_head_together(head, sequence, block / blocks % heads, BACKWARD_NAMES);
        struct column_sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        add_queries(&sums, weights, tiles, first, slice, wants_dscores, head COMMA_DROPOUT_NAMES);
        __global float *out = wants_dscores ? head->dk : head->dv;
        int stride = wants_dscores ? head->dk_stride : head->dv_stride;
        put_sums(out + (size_t)first * stride + slice, stride, count, min(SLICE, width - slice), &sums,
                 (float4)(wants_dscores ? head->scale : 1.0f));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Adds dS of a tile to the partials: every work-item except one sums a diagonal; diagonals beyond the reach share a
 * partial. */
static inline void add_diagonals(__local float *diagonals, const __local float *weights, int first_query, int first_key,
                                 const __local struct backward_head *head)
{
    int lane = (int)get_local_id(0), distance = lane - (BLOCK - 1); /* distance of key and query within the
                                                                     * tile */
    float sum = 0.0f;
    for (int key = max(distance, 0); key < min(BLOCK, BLOCK + distance); key++) {
        sum += weights[key * (BLOCK + 1) + key - distance];
    }
    diagonals[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    int reach = head->reach, place = first_key - first_query + distance + reach, last = 2 * BLOCK - 2;
    int is_first = lane == 0 || (place > 0 && place <= 2 * reach);
    if (lane <= last && is_first) {
        int end = place >= 2 * reach || reach == 0 ? last : place < 0 ? min(lane - place, last) : lane;
        for (int other = lane + 1; other <= end; other++) {
            sum += diagonals[other];
        }
        head->partials[clamp(place, 0, 2 * reach)] += sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
