/* Shared by the GPU variants of attention.cl and attention_local.cl, which include this file after
 * attention_blocks.cl.
 *
 * A group computes QUERIES queries of one head of one sequence and up to 64 value columns, with keys in tiles of 64.
 * Each work-item holds the scores of four queries and four keys, and the sums of four columns for these queries: 16
 * products for every two loads of four floats from local memory. Queries and keys are copied to local memory in
 * chunks of DEPTH columns, values in chunks of DEPTH rows; during the computation of a chunk the next one is loaded
 * into registers. Between the two multiplications the scores are in local memory, where four work-items per query
 * mask them and turn them into weights.
 *
 * A work-item's queries start at 4 * ROW_PLACE, its keys and columns at 4 * PLACE: neighbours load 64 and 128
 * contiguous bytes from local memory, and with 32 keys or columns half of a group's sub-groups are idle. */
#define ITEMS       TILE_GROUP
#define QUERIES     CLF__BLOCK_QUERIES
#define KEYS        CLF__BLOCK_KEYS /* keys of a tile */
#define DEPTH       CLF__BLOCK_DEPTH
#define KEY_PITCH   (KEYS + 4) /* stride of a column of keys: four columns are half of the banks apart */
#define QUERY_PITCH (QUERIES + 4)
#define STAGE       CLF__BLOCK_STAGE /* floats of a chunk; a chunk of values is smaller */
#define SLICES      ((VALUE_WIDTH + 63) / 64)
#define SLICE       (((VALUE_WIDTH + SLICES - 1) / SLICES + 3) / 4 * 4) /* columns of a group's sums */

#define ITEM      ((int)get_local_id(0))
#define ROW_PLACE (ITEM % 4 + ITEM / 64 * 4)
#define PLACE     (ITEM / 4 % 16)

/* Uses the fast function on devices where it is accurate and returns 0 at -inf. */
#if defined(__NV_CL_C_VERSION) || defined(__AMDGCN__)
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif

/* Values of four queries for each of four keys or columns. */
struct block {
    float4 s0, s1, s2, s3;
};

/* block += the values of four queries times the values of four keys or columns (outer product). */
static inline void add_outer(struct block *block, float4 queries, float4 others)
{
    block->s0 = fma(queries, (float4)(others.x), block->s0);
    block->s1 = fma(queries, (float4)(others.y), block->s1);
    block->s2 = fma(queries, (float4)(others.z), block->s2);
    block->s3 = fma(queries, (float4)(others.w), block->s3);
}

/* The prefetch registers of a work-item for a chunk: quads of keys (k) and queries (q), or of values (k). */
struct chunk {
    float4 k0, k1, q;
};
#if KEYS * DEPTH != 2 * 4 * ITEMS
#error "a work-item loads two quads of a chunk"
#endif

/* The rows of a task: its queries, and the keys and values of its sequence. */
struct sources {
    const __global float *q, *k, *v;
    int q_stride, k_stride, v_stride, count, columns; /* count: queries; columns: columns of values */
};

#define GLOBAL_FOUR(p) (*(const __global float4 *)(p))
#define LOCAL_FOUR(p)  (*(__local float4 *)(p))
#define READ_FOUR(p)   (*(const __local float4 *)(p))

/* A work-item loads four columns of query or key row FETCH_ROW and of row FETCH_ROW + ITEMS / 4. 32 neighbouring
 * items load 32 contiguous bytes of each of 16 rows; their columns are in different banks. */
#define FETCH_ROW    (ITEM % 16 + ITEM / 32 % (ITEMS / 64) * 16)
#define FETCH_COLUMN ((ITEM / 16 % 2 + ITEM / (ITEMS / 2) * 2) * 4)

/* Loads four columns of row min(row, last). */
static inline float4 fetch_four(const __global float *rows, int row, int last, int stride)
{
    return GLOBAL_FOUR(rows + min(row, last) * stride);
}

static inline void put_four(__local float *to, int pitch, float4 columns)
{
    to[0] = columns.x;
    to[pitch] = columns.y;
    to[2 * pitch] = columns.z;
    to[3 * pitch] = columns.w;
}

/* Loads columns d .. d + DEPTH - 1 of the queries and of the `width` keys starting at `tile`. Beyond the last row
 * or column it loads another one, whose results are not used. */
static inline void fetch_chunk(struct chunk *chunk, const struct sources *from, int tile, int width, int d)
{
#ifdef IS_ALIGNED
    int row = FETCH_ROW, column = min(d + FETCH_COLUMN, KEY_WIDTH - 4);
    const __global float *k = from->k + (size_t)tile * from->k_stride + column;
    chunk->k0 = fetch_four(k, row, width - 1, from->k_stride);
    chunk->k1 = fetch_four(k, row + ITEMS / 4, width - 1, from->k_stride);
    chunk->q = fetch_four(from->q + column, row, from->count - 1, from->q_stride);
#endif
}

/* stage = the columns of the keys, then those of the queries. */
static inline void put_chunk(__local float *stage, const struct chunk *chunk, const struct sources *from, int tile,
                                int width, int d)
{
#ifdef IS_ALIGNED
    __local float *k = stage + FETCH_COLUMN * KEY_PITCH + FETCH_ROW;
    put_four(k, KEY_PITCH, chunk->k0);
    put_four(k + ITEMS / 4, KEY_PITCH, chunk->k1);
    put_four(stage + DEPTH * KEY_PITCH + FETCH_COLUMN * QUERY_PITCH + FETCH_ROW, QUERY_PITCH, chunk->q);
#else
    int column = ITEM % DEPTH, d_column = min(d + column, KEY_WIDTH - 1);
#pragma unroll 1
    for (int row = ITEM / DEPTH; row < KEYS; row += ITEMS / DEPTH) {
        stage[column * KEY_PITCH + row] = from->k[(size_t)(tile + min(row, width - 1)) * from->k_stride + d_column];
    }
#pragma unroll 1
    for (int row = ITEM / DEPTH; row < QUERIES; row += ITEMS / DEPTH) {
        stage[DEPTH * KEY_PITCH + column * QUERY_PITCH + row] =
            from->q[(size_t)min(row, from->count - 1) * from->q_stride + d_column];
    }
#endif
}

/* Loads DEPTH rows of values starting at `key`, of which `width` exist. The last row repeats beyond the end, with
 * weights of 0. */
static inline void fetch_values(struct chunk *chunk, const struct sources *from, int key, int width)
{
#ifdef IS_ALIGNED
    int row = ITEM / 16;
    const __global float *v = from->v + (size_t)key * from->v_stride + min(ITEM % 16 * 4, from->columns - 4);
    chunk->k0 = fetch_four(v, row, width - 1, from->v_stride);
    chunk->k1 = fetch_four(v, row + ITEMS / 16, width - 1, from->v_stride);
#endif
}

/* stage (DEPTH, 64) = the values. */
static inline void put_values(__local float *stage, const struct chunk *chunk, const struct sources *from, int key,
                              int width)
{
#ifdef IS_ALIGNED
    LOCAL_FOUR(stage + ITEM * 4) = chunk->k0;
    LOCAL_FOUR(stage + (ITEM + ITEMS) * 4) = chunk->k1;
#else
    int column = min(ITEM % 64, from->columns - 1);
#pragma unroll 1
    for (int row = ITEM / 64; row < DEPTH; row += ITEMS / 64) {
        stage[row * 64 + ITEM % 64] = from->v[(size_t)(key + min(row, width - 1)) * from->v_stride + column];
    }
#endif
}

/* scores += the products of a chunk's first `columns` columns, in order. */
static inline void multiply_chunk(struct block *scores, const __local float *stage, int columns)
{
    const __local float *k = stage + PLACE * 4, *q = stage + DEPTH * KEY_PITCH + ROW_PLACE * 4;
#pragma unroll 2
    for (int d = 0; d < columns; d++) {
        add_outer(scores, READ_FOUR(q + d * QUERY_PITCH), READ_FOUR(k + d * KEY_PITCH));
    }
}

/* weights (KEYS, QUERIES) = scores * scale. */
static inline void put_scores(__local float *weights, const struct block *scores, float scale)
{
    __local float *to = weights + PLACE * 4 * QUERIES + ROW_PLACE * 4;
    LOCAL_FOUR(to) = scores->s0 * scale;
    LOCAL_FOUR(to + QUERIES) = scores->s1 * scale;
    LOCAL_FOUR(to + 2 * QUERIES) = scores->s2 * scale;
    LOCAL_FOUR(to + 3 * QUERIES) = scores->s3 * scale;
}

/* sums += the weighted values of a chunk, in order. */
static inline void sum_values(struct block *sums, const __local float *weights, const __local float *stage)
{
    const __local float *weight = weights + ROW_PLACE * 4, *value = stage + PLACE * 4;
#pragma unroll 2
    for (int j = 0; j < DEPTH; j++) {
        add_outer(sums, READ_FOUR(weight + j * QUERIES), READ_FOUR(value + j * 64));
    }
}

/* sums *= the factor of each query. */
static inline void rescale(struct block *sums, const __local float *shares)
{
    float4 own = READ_FOUR(shares + ROW_PLACE * 4);
    sums->s0 *= own;
    sums->s1 *= own;
    sums->s2 *= own;
    sums->s3 *= own;
}

#include "include/attention_softmax_gpu.cl"

/* y = sums / total. */
static inline void put_outputs(__global result_element *y, int y_stride, int count, int columns, struct block *sums, float total,
                               const struct place *at)
{
    int column = PLACE * 4, row = ROW_PLACE * 4;
    at->parts[at->item] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at->item < QUERIES) {
        float all = sum4(PARTS_OF(at->parts, at->item));
        at->shares[at->item] = all == 0.0f ? 0.0f : 1.0f / all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    rescale(sums, at->shares);
    __global result_element *to = y + (size_t)row * y_stride + column;
    /* Rotates the vectors to make each query the first in turn: if the loop were unrolled, compilers would keep
     * four addresses in registers. */
#pragma unroll 1
    for (int i = 0; i < 4 && row + i < count && column < columns; i++, to += y_stride) {
        store_result_quad((float4)(sums->s0.x, sums->s1.x, sums->s2.x, sums->s3.x), to, columns - column);
        sums->s0 = sums->s0.yzwx;
        sums->s1 = sums->s1.yzwx;
        sums->s2 = sums->s2.yzwx;
        sums->s3 = sums->s3.yzwx;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
