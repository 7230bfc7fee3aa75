/* What matrix_nv75.cl and matrix_nv80.cl share: the fragments of mma.sync for 16 rows, 8 columns and half a slice, ldmatrix and
 * operations of a warp. Needs MMA(sums, a0, a1, a2, a3, b0, b1), which multiplies the registers of PTX's m16n8k16 (halves) or
 * m16n8k32 (bytes).
 *
 * Two MMA multiply a slice. A lane holds 16 neighbouring bytes of a row, where PTX expects parts of each half of the
 * instruction's K. Since A and B use the same assignment, this only permutes K within the slice. */
#define MATRIX_LANES   32
#define MATRIX_ROWS    16
#define MATRIX_COLUMNS 8
#define MATRIX_SUMS    4

#define A_WORDS         2
#define A_ROW(lane, i)  ((lane) / 4 + 8 * (i))
#define A_WORD(lane, i) ((lane) % 4)
#define B_WORDS         1
#define B_ROW(lane, i)  ((lane) / 4)
#define B_WORD(lane, i) ((lane) % 4)

#define SUM_ROW(lane, i)    ((lane) / 4 + (i) / 2 * 8)
#define SUM_COLUMN(lane, i) ((lane) % 4 * 2 + (i) % 2)
#define SUMS_ARE_PAIRED
#define SUMS_ARE_OPERANDS

static inline void multiply_slice(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    MMA(sums, a[0].x, a[1].x, a[0].y, a[1].y, b[0].x, b[0].y);
    MMA(sums, a[0].z, a[1].z, a[0].w, a[1].w, b[0].z, b[0].w);
}

/* A step is one instruction; ldmatrix loads its fragments as stored, so the order of K is specific to this level.
 * Words of B hold the words of two tiles. */
#define SLICE_STEPS         2
#define A_STEP_WORDS        1
#define B_STEP_WORDS(tiles) ((tiles) / 2)

static inline uint4 load_matrices(const __local uint4 *from)
{
    uint x, y, z, w;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "r"((uint)(size_t)from)
                     : "memory");
    return (uint4)(x, y, z, w);
}

static inline void load_a_step(uint4 *a, const __local uint4 *tile, int rows, int first, int step)
{
    a[0] = load_matrices(tile + first + TILE_PLACE(rows, LANE % 16, 2 * step + LANE / 16));
}

static inline void load_b_step(uint4 *b, int tiles, const __local uint4 *tile, int rows, int first, int step)
{
#pragma unroll
    for (int j = 0; j < tiles; j += 2) {
        b[j / 2] = load_matrices(tile + first + j * MATRIX_COLUMNS +
                                 TILE_PLACE(rows, LANE % 8 + LANE / 16 * 8, 2 * step + LANE / 8 % 2));
    }
}

static inline void multiply_step(matrix_sum *sums, const uint4 *a, const uint4 *b, int j)
{
    uint2 own = j % 2 == 0 ? b[j / 2].xy : b[j / 2].zw;
    MMA(sums, a[0].x, a[0].y, a[0].z, a[0].w, own.x, own.y);
}

/* For slices in global memory: a lane loads whole words of x, which are passed through local memory to the
 * lanes that multiply them. */
#define A_EXCHANGE_WORDS (MATRIX_ROWS * SLICE_WORDS)

static inline void fetch_a(uint4 *a, const FRESH __global uint4 *x, int pitch, int rows)
{
    int row = LANE / 4;
    x += row * (size_t)pitch + LANE % 4;
    a[0] = row < rows ? x[0] : (uint4)(0);
    a[1] = row + 8 < rows ? x[8 * (size_t)pitch] : (uint4)(0);
}

static inline void exchange_a(uint4 (*a)[A_WORDS], int slices, __local uint4 *exchange)
{
    __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory");
#pragma unroll
    for (int s = 0; s < slices; s++) {
        __local uint4 *to = exchange + s * A_EXCHANGE_WORDS;
        to[TILE_PLACE(MATRIX_ROWS, LANE / 4, LANE % 4)] = a[s][0];
        to[TILE_PLACE(MATRIX_ROWS, LANE / 4 + 8, LANE % 4)] = a[s][1];
    }
    __asm__ volatile("bar.warp.sync 0xffffffff;" : : : "memory");
#pragma unroll
    for (int s = 0; s < slices; s++) {
        load_a_step(&a[s][0], exchange + s * A_EXCHANGE_WORDS, MATRIX_ROWS, 0, 0);
        load_a_step(&a[s][1], exchange + s * A_EXCHANGE_WORDS, MATRIX_ROWS, 0, 1);
    }
}

static inline void fetch_b(uint4 *b, const __global uint4 *w, int is_there)
{
    const __global uint *units = (const __global uint *)w + LANE;
    b[0] = is_there ? (uint4)(units[0], units[4 * PANEL], units[8 * PANEL], units[12 * PANEL]) : (uint4)(0);
}

static inline void multiply_fetched(matrix_sum *sums, const uint4 *a, const uint4 *b)
{
    MMA(sums, a[0].x, a[0].y, a[0].z, a[0].w, b[0].x, b[0].y);
    MMA(sums, a[1].x, a[1].y, a[1].z, a[1].w, b[0].z, b[0].w);
}

static inline float shuffle_xor(float value, int distance)
{
    float passed;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(passed) : "f"(value), "r"(distance));
    return passed;
}
#define SHUFFLE_XOR shuffle_xor

static inline int any_lane(int condition)
{
    int any;
    __asm__ volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff; selp.s32 %0, 1, 0, p; }"
                     : "=r"(any)
                     : "r"(condition));
    return any;
}
#define ANY_LANE any_lane

/* Subnormal results become 0, which saves three instructions. */
static inline float fast_exp2(float x)
{
    float power;
    __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
#define FAST_EXP2 fast_exp2

/* Loads four matrices of 8 x 8 halves, each transposed: rows 0 .. 7, 8 .. 15 and so on of the slice. */
static inline uint4 load_transposed(const __local uint4 *row)
{
    uint4 b;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w)
                     : "r"((uint)(size_t)row)
                     : "memory");
    return b;
}
#define READS_ROWS
#define LOAD_TRANSPOSED load_transposed

#define FETCH_AHEAD(from)     __asm__ volatile("prefetch.global.L2 [%0];" : : "l"(from))
