/* A tile of a GEMM, GPU variant: 64 rows and 64 columns. Each of 128 work-items computes 8 rows and 4 columns, with
 * slices of the operands in local memory. Include file, not a program.
 *
 * Numbers are floats. For other types define tile_number, the type of operands and sums, tile_quad, a
 * vector of four, and ADD_COLUMNS(sums, a, b), which adds the products of one number and four columns to
 * four sums. */
#ifndef ADD_COLUMNS
typedef float tile_number;
typedef float4 tile_quad;
#define ADD_COLUMNS(sums, a, b) fma((float4)(a), b, sums)
#endif

#define TILE        CLF__TILE
#define TILE_INPUTS 16 /* inputs of a slice */
#define X_PITCH     (TILE + 4) /* pitch of a slice that is stored transposed, padded to avoid bank conflicts of
                                * stores */

/* Inputs that are multiplied without a branch: compilers hoist the loads of the next inputs, which needs more
 * registers than some devices have. */
#if defined(__NV_CL_C_VERSION)
#define INPUTS_UNROLLED TILE_INPUTS
#else
#define INPUTS_UNROLLED 2
#endif

/* The first column of an item is THREAD_COLUMN * 4; its rows are ROW_INDEX(i), 4 neighbours in each half of the
 * tile. This way 32 consecutive items read 8 adjacent quads of one operand and 4 of the other in one access to
 * local memory. */
#define THREAD_COLUMN ((int)get_local_id(0) % 8 + (int)get_local_id(0) / 32 % 2 * 8)
#define THREAD_ROW    ((int)get_local_id(0) / 8 % 4 + (int)get_local_id(0) / 64 * 4)
#define ROW_INDEX(i)  ((i) / 4 * 32 + THREAD_ROW * 4 + (i) % 4)

/* The sums of an item, one quad per row; named members, because some compilers keep an array in memory. */
struct tile_sums {
    tile_quad row0, row1, row2, row3, row4, row5, row6, row7;
};

/* Moves the next row to row0. */
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

/* sums += the products of one input: a starts at the item's first row, b at its first column. */
static inline void multiply_input(struct tile_sums *sums, const __local tile_number *a, const __local tile_number *b)
{
    tile_quad above = *(const __local tile_quad *)a, below = *(const __local tile_quad *)(a + 32);
    tile_quad columns = *(const __local tile_quad *)b;
    sums->row0 = ADD_COLUMNS(sums->row0, above.x, columns);
    sums->row1 = ADD_COLUMNS(sums->row1, above.y, columns);
    sums->row2 = ADD_COLUMNS(sums->row2, above.z, columns);
    sums->row3 = ADD_COLUMNS(sums->row3, above.w, columns);
    sums->row4 = ADD_COLUMNS(sums->row4, below.x, columns);
    sums->row5 = ADD_COLUMNS(sums->row5, below.y, columns);
    sums->row6 = ADD_COLUMNS(sums->row6, below.z, columns);
    sums->row7 = ADD_COLUMNS(sums->row7, below.w, columns);
}

/* Like multiply_input(), for a slice of `inputs` <= TILE_INPUTS inputs: rows of a are a_pitch apart, rows of b
 * TILE. */
static inline void multiply_slice(struct tile_sums *sums, const __local tile_number *a, int a_pitch,
                                  const __local tile_number *b, int inputs)
{
    if (inputs >= TILE_INPUTS) {
#pragma unroll INPUTS_UNROLLED
        for (int k = 0; k < TILE_INPUTS; k++) {
            multiply_input(sums, a + k * a_pitch, b + k * TILE);
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < inputs; k++) {
            multiply_input(sums, a + k * a_pitch, b + k * TILE);
        }
    }
}

/* The program defines these: where the operands are, and the registers for a slice of them. fetch_slice() loads
 * the slice starting at input `next` from global memory into the registers; put_slice() stores it in local memory. */
struct tile_operands;
struct tile_prefetch;
static inline void fetch_slice(struct tile_prefetch *prefetched, const struct tile_operands *from, int next);
static inline void put_slice(__local tile_number *a_tile, __local tile_number *b_tile, const struct tile_prefetch *prefetched);

/* sums += the products of all inputs. During each multiplication the next slice is loaded into registers; then it
 * is stored in the other half of local memory. */
static inline void sum_slices(struct tile_sums *sums, struct tile_prefetch *prefetched, const struct tile_operands *from,
                              __local tile_number *a_tile, int a_pitch, __local tile_number *b_tile, int inputs)
{
    fetch_slice(prefetched, from, 0);
    put_slice(a_tile, b_tile, prefetched);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int now = 0, half_at = 0; now < inputs; now += TILE_INPUTS, half_at = 1 - half_at) {
        int next = now + TILE_INPUTS;
        if (next < inputs) {
            fetch_slice(prefetched, from, next);
        }
        multiply_slice(sums, a_tile + half_at * TILE_INPUTS * a_pitch + THREAD_ROW * 4, a_pitch,
                       b_tile + half_at * TILE_INPUTS * TILE + THREAD_COLUMN * 4, inputs - now);
        if (next < inputs) {
            put_slice(a_tile + (1 - half_at) * TILE_INPUTS * a_pitch, b_tile + (1 - half_at) * TILE_INPUTS * TILE, prefetched);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
