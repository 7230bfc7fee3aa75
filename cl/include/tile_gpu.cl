/* A product's tile in the GPU form: 64 rows and 64 columns, of which each of 128 work-items has 8 rows and 4 columns, while
 * slices of the operands lie in local memory. Included, never built alone. */
#define ITEMS      128
#define TILE       64
#define TILE_DEPTH 16 /* inputs of a slice */

/* The first column of an item is ALONG * 4, its rows are SPOT(ACROSS, i): 4 neighbours in each half of the tile. So 32 items
 * in a row read 8 neighbouring float4 of the one operand and 4 of the other, which local memory serves at once. */
#define ALONG           ((int)get_local_id(0) % 8 + (int)get_local_id(0) / 32 % 2 * 8)
#define ACROSS          ((int)get_local_id(0) / 8 % 4 + (int)get_local_id(0) / 64 * 4)
#define SPOT(across, i) ((i) / 4 * 32 + (across)*4 + (i) % 4)

/* The sums of an item, one float4 a row: named, because an array of them ends in memory with some compilers. */
struct tile_sums {
    float4 row0, row1, row2, row3, row4, row5, row6, row7;
};

/* The next row comes to row0. */
static inline void pass_rows(struct tile_sums *sums)
{
    sums->row0 = sums->row1;
    sums->row1 = sums->row2;
    sums->row2 = sums->row3;
    sums->row3 = sums->row4;
    sums->row4 = sums->row5;
    sums->row5 = sums->row6;
    sums->row6 = sums->row7;
}

/* sums += the product of one input: a from the item's first row on, b from its first column on. */
static inline void multiply_input(struct tile_sums *sums, const __local float *a, const __local float *b)
{
    float4 above = *(const __local float4 *)a, below = *(const __local float4 *)(a + 32);
    float4 columns = *(const __local float4 *)b;
    sums->row0 = fma((float4)(above.x), columns, sums->row0);
    sums->row1 = fma((float4)(above.y), columns, sums->row1);
    sums->row2 = fma((float4)(above.z), columns, sums->row2);
    sums->row3 = fma((float4)(above.w), columns, sums->row3);
    sums->row4 = fma((float4)(below.x), columns, sums->row4);
    sums->row5 = fma((float4)(below.y), columns, sums->row5);
    sums->row6 = fma((float4)(below.z), columns, sums->row6);
    sums->row7 = fma((float4)(below.w), columns, sums->row7);
}

/* The same for a slice of so many inputs, TILE_DEPTH at most: rows of a are a_pitch apart, of b TILE. */
static inline void multiply_slice(struct tile_sums *sums, const __local float *a, int a_pitch, const __local float *b,
                                  int inputs)
{
    if (inputs >= TILE_DEPTH) {
        /* hardly unrolled: hoisted loads cost more registers than some have */
#pragma unroll 2
        for (int k = 0; k < TILE_DEPTH; k++) {
            multiply_input(sums, a + k * a_pitch, b + k * TILE);
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < inputs; k++) {
            multiply_input(sums, a + k * a_pitch, b + k * TILE);
        }
    }
}
