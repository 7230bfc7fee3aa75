/* Operands of attention_matrix.cl: queries in registers, tiles of KEYS keys and values in local memory, and their products.
 * Include after matrix_reduce.cl.
 *
 * A tile of keys has rows of words, swizzled by ROW_PLACE. If the level defines READS_ROWS, tiles of values have the same
 * layout, and there are two stages: one tile is copied while the other is multiplied. Otherwise values are transposed during
 * the copy: rows are columns, and words are keys. */
#define INLINE static inline __attribute__((always_inline)) /* keeps array arguments in registers */

#ifdef OPERANDS_ARE_ROUNDED
typedef ushort operand;
#else
typedef float operand;
#endif

#define ITEM         ((int)(get_local_id(0) % ITEMS))
#define ITEMS        (WARPS * MATRIX_LANES)
#define SLICE_HALVES (8 * SLICE_WORDS)
#define KEY_SLICES   ((KEY_WIDTH + SLICE_HALVES - 1) / SLICE_HALVES)
#define KEY_TILES    (KEYS / MATRIX_COLUMNS)
#define VALUE_TILES  (VALUE_WIDTH / MATRIX_COLUMNS)
#define SLICES       (KEYS / SLICE_HALVES)

#ifdef READS_ROWS
#define STAGES 2
#define KEYS   (KEY_WIDTH > 64 || VALUE_WIDTH > 64 ? 32 : 64) /* keys of a tile */
#else
#define STAGES 1
#define KEYS   64
#endif

/* The place of word `word` of key `row` in a tile. Eight neighbouring words of a row are in different banks, and
 * so are the same word of eight neighbouring rows, and four neighbouring words of two neighbouring rows. */
#define ROW_PLACE(row, word) (((word) / 8 * KEYS + (row)) * 8 + ((word) % 8 ^ ((row) % 2 * 4 + (row) / 2 % 4)))
#define ROW_WORDS(width)     (((width) + 63) / 64 * 8)

/* Word `word` of a row of a tile whose word 0 is at `row`. Tiles are aligned to ROW_BYTES. This takes one
 * instruction; with ROW_PLACE, compilers would keep the place of every word in a register. */
#define ROW_BYTES 128
INLINE const __local uint4 *word_of(const __local uint4 *row, int word)
{
    return (const __local uint4 *)((size_t)row ^ 16 * (word % 8)) + word / 8 * (8 * KEYS);
}

#define KEY_TILE_WORDS   (KEYS * ROW_WORDS(KEY_WIDTH))
#define VALUE_TILE_WORDS (KEYS * ROW_WORDS(VALUE_WIDTH))
#define STAGE_WORDS      (KEY_TILE_WORDS + VALUE_TILE_WORDS)

/* 1 if slice s of a tile starts before `width`. Long sequences do not skip slices, to keep their loops free of
 * branches. */
#if ROW_TILES == 1
#define HAS_SLICE(s, width) ((s) == 0 || (s)*SLICE_HALVES < (width))
#else
#define HAS_SLICE(s, width) 1
#endif

INLINE float4 load_four(const __global float *from)
{
#ifdef IS_ALIGNED
    return *(const __global float4 *)from;
#else
    return vload4(0, from);
#endif
}

INLINE uint4 load_word(const __global operand *from)
{
#ifdef OPERANDS_ARE_ROUNDED
    return *(const __global uint4 *)from;
#else
    return pack_word16(load_four(from), load_four(from + 4));
#endif
}

/* Loads a word of a query, in pairs of halves, which the compiler can reorder as the instructions need. */
INLINE uint4 load_query_word(const __global operand *from)
{
#ifdef OPERANDS_ARE_ROUNDED
    const volatile __global uint *pairs = (const volatile __global uint *)from;
    return (uint4)(pairs[0], pairs[1], pairs[2], pairs[3]);
#else
    return load_word(from);
#endif
}

/* Copies the word at from + place, or zeros if the condition is false. In that case the word at `from` is loaded
 * and discarded, so no load depends on a branch. */
INLINE void copy_word(__local uint4 *to, const __global operand *from, int place, int condition)
{
#if defined(OPERANDS_ARE_ROUNDED) && defined(COPY_WORD_IF)
    COPY_WORD_IF(to, from + place, condition);
#else
    uint4 word = load_word(from + (condition ? place : 0));
    *to = condition ? word : (uint4)(0);
#endif
}

/* Loads the fragments of a warp's queries; the last query of the block repeats beyond the end. Zeros beyond
 * KEY_WIDTH. */
INLINE void load_queries(uint4 (*queries)[KEY_SLICES][A_WORDS], const __global operand *q, int stride, int count)
{
    UNROLL_SLICES
    for (int m = 0; m < ROW_TILES; m++) {
        UNROLL_SLICES
        for (int i = 0; i < A_WORDS; i++) {
            int row = min((WARP * ROW_TILES + m) * MATRIX_ROWS + A_ROW(LANE, i), count - 1);
            UNROLL_SLICES
            for (int s = 0; s < KEY_SLICES; s++) {
                int first = 8 * (s * SLICE_WORDS + A_WORD(LANE, i));
                int is_inside = KEY_WIDTH % SLICE_HALVES == 0 || first < KEY_WIDTH;
                queries[m][s][i] = is_inside ? load_query_word(q + row * stride + first) : (uint4)(0);
            }
        }
    }
}

/* Copies a slice of rows of `words` words, starting at row `first` of a tile. Zeros beyond its `left` rows and
 * `width` columns. */
INLINE void copy_rows(__local uint4 *tile, const __global operand *from, int place, int stride, int width, int words, int first,
                      int left)
{
    UNROLL_SLICES
    for (int i = 0; i < SLICE_HALVES * words; i += ITEMS) {
        int n = i + ITEM, row = first + n / words, word = n % words;
        if (SLICE_HALVES * words % ITEMS == 0 || n < SLICE_HALVES * words) {
            copy_word(tile + ROW_PLACE(row, word), from, place + row * stride + 8 * word, row < left && 8 * word < width);
        }
    }
}

#ifndef READS_ROWS
/* The place of word `word` of row `row` of tile t of a slice of values. The order of rows differs between tiles,
 * to keep the stores of copy_values() free of bank conflicts. */
#define VALUE_PLACE(t, row, word)                                                                                      \
    ((t)*MATRIX_COLUMNS + TILE_PLACE(VALUE_WIDTH, (row) ^ ((t) % (32 / MATRIX_COLUMNS)), word))

/* Returns four columns of two keys; each word holds one column of both keys. */
INLINE uint4 pair_keys(const __global operand *low_key, const __global operand *high_key)
{
#ifdef OPERANDS_ARE_ROUNDED
    return upsample(vload4(0, high_key), vload4(0, low_key));
#else
    float4 low = load_four(low_key), high = load_four(high_key);
    return (uint4)(pack_operand16((float2)(low.x, high.x)), pack_operand16((float2)(low.y, high.y)),
                   pack_operand16((float2)(low.z, high.z)), pack_operand16((float2)(low.w, high.w)));
#endif
}

/* Copies a slice of `width` values, transposed; the last value repeats beyond the end. The keys are in the order
 * of OPERAND_COLUMN, in which round_sums() returns their weights. An item loads four columns of two keys that
 * share a pair of halves; 32 items copy a word of 32 columns. */
INLINE void copy_values(__local uint4 *tile, const __global operand *v, int stride, int width)
{
    enum { CELLS = SLICE_WORDS * ((VALUE_WIDTH + 31) / 32), TOGETHER = ITEMS / 32 };
    int own = ITEM / 32, pair = ITEM % 32 / 8, column = ITEM % 8 * 4;
    int row = column % MATRIX_COLUMNS, t = column / MATRIX_COLUMNS;
    __local uint *to = (__local uint *)tile + pair;
    UNROLL_SLICES
    for (int cell = 0; cell < CELLS; cell += TOGETHER) {
        /* In both cases, the quotient and the remainder of (cell + own) / SLICE_WORDS. */
        int is_word = TOGETHER <= SLICE_WORDS, word = is_word ? cell % SLICE_WORDS + own : own % SLICE_WORDS;
        int first = (is_word ? cell / SLICE_WORDS : (cell + own) / SLICE_WORDS) * 32;
        int low_key = OPERAND_COLUMN(8 * word + 2 * pair), high_key = OPERAND_COLUMN(8 * word + 2 * pair + 1);
        if (VALUE_WIDTH % 32 == 0 || first + column < VALUE_WIDTH) {
            const __global operand *from = v + first + column;
            uint4 pairs = pair_keys(from + min(low_key, width - 1) * stride, from + min(high_key, width - 1) * stride);
            __local uint *columns = to + 4 * first;
            columns[4 * VALUE_PLACE(t, row, word)] = pairs.x;
            columns[4 * VALUE_PLACE(t, row + 1, word)] = pairs.y;
            columns[4 * VALUE_PLACE(t, row + 2, word)] = pairs.z;
            columns[4 * VALUE_PLACE(t, row + 3, word)] = pairs.w;
        }
    }
}
#endif

/* A head's keys and values of a sequence: elements of k and v starting at k_first and v_first. */
struct memory {
    const __global operand *k, *v;
    int k_first, v_first, k_stride, v_stride, end; /* end: end of the keys that the block's queries see */
};

/* Begins to copy the tile starting at key `tile`. */
INLINE void copy_tile(__local uint4 *stage, const struct memory *memory, int tile)
{
    int left = memory->end - tile;
    int k_place = memory->k_first + tile * memory->k_stride, v_place = memory->v_first + tile * memory->v_stride;
    __local uint4 *values = stage + KEY_TILE_WORDS;
#pragma unroll 1
    for (int s = 0; s < SLICES; s++) {
        int first = s * SLICE_HALVES;
        if (HAS_SLICE(s, left)) {
            copy_rows(stage, memory->k, k_place, memory->k_stride, KEY_WIDTH, KEY_SLICES * SLICE_WORDS, first, left);
#ifdef READS_ROWS
            copy_rows(values, memory->v, v_place, memory->v_stride, VALUE_WIDTH, VALUE_WIDTH / 8, first, left);
#else
            copy_values(values + s * (VALUE_WIDTH * SLICE_WORDS), memory->v + (v_place + first * memory->v_stride),
                        memory->v_stride, left - first);
#endif
        }
    }
    COPIES_END;
}

/* scores = queries keysᵀ for the slices of keys that begin below `width`; zeros beyond them. */
INLINE void multiply_keys(matrix_sum (*scores)[KEY_TILES][MATRIX_SUMS], const uint4 (*queries)[KEY_SLICES][A_WORDS],
                          const __local uint4 *tile, int width)
{
    UNROLL_SLICES
    for (int t = 0; t < KEY_TILES; t++) {
        UNROLL_SLICES
        for (int m = 0; m < ROW_TILES; m++) {
            clear_sums(scores[m][t]);
        }
        if (HAS_SLICE(t / SLICE_TILES, width)) {
            UNROLL_SLICES
            for (int s = 0; s < KEY_SLICES; s++) {
                uint4 b[B_WORDS];
                UNROLL_SLICES
                for (int i = 0; i < B_WORDS; i++) {
                    const __local uint4 *row = tile + ROW_PLACE(t * MATRIX_COLUMNS + B_ROW(LANE, i), 0);
                    b[i] = *word_of(row, s * SLICE_WORDS + B_WORD(LANE, i));
                }
                UNROLL_SLICES
                for (int m = 0; m < ROW_TILES; m++) {
                    multiply_slice(scores[m][t], queries[m][s], b);
                }
            }
        }
    }
}

/* Loads the fragment of tile t of the columns of a slice of values. */
INLINE void load_values(uint4 *b, const __local uint4 *tile, int slice, int t)
{
#ifdef LOAD_TRANSPOSED
    b[0] = LOAD_TRANSPOSED(word_of(tile + ROW_PLACE(slice * SLICE_HALVES + LANE, 0), t));
#elif defined(READS_ROWS)
    const __local ushort *halves = (const __local ushort *)tile;
    for (int i = 0; i < B_WORDS; i++) {
        int column = t * MATRIX_COLUMNS + B_ROW(LANE, i);
        uint pairs[4];
        for (int p = 0; p < 4; p++) {
            int place = 8 * B_WORD(LANE, i) + 2 * p, first = slice * SLICE_HALVES;
            int low = first + OPERAND_COLUMN(place), high = first + OPERAND_COLUMN(place + 1);
            pairs[p] = halves[8 * ROW_PLACE(low, column / 8) + column % 8] |
                       (uint)halves[8 * ROW_PLACE(high, column / 8) + column % 8] << 16;
        }
        b[i] = (uint4)(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
#else
    UNROLL_SLICES
    for (int i = 0; i < B_WORDS; i++) {
        b[i] = tile[slice * (VALUE_WIDTH * SLICE_WORDS) + VALUE_PLACE(t, B_ROW(LANE, i), B_WORD(LANE, i))];
    }
#endif
}

/* sums += weights values, over a slice of keys. */
INLINE void multiply_values(matrix_sum (*sums)[VALUE_TILES][MATRIX_SUMS], const uint4 (*weights)[A_WORDS],
                            const __local uint4 *tile, int slice)
{
    UNROLL_SLICES
    for (int t = 0; t < VALUE_TILES; t++) {
        uint4 b[B_WORDS];
        load_values(b, tile, slice, t);
        UNROLL_SLICES
        for (int m = 0; m < ROW_TILES; m++) {
            multiply_slice(sums[m][t], weights[m], b);
        }
    }
}
