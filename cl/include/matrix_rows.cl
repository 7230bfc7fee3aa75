/* Tiles of products of few rows by matrix instructions: MATRIX_ROWS rows by MATRIX_COLUMNS outputs. Neighbouring warps of a group
 * share a tile, and each multiplies one chunk of K at a time. Fragments are read directly from global memory; a warp requests the
 * words of W of FETCHED_SLICES slices at once. The order of the sums is that of gemm_matrix.cl. Include after matrix_result.cl. */

#define FETCHED_SLICES (CHUNK_SLICES / B_WORDS) /* as many as registers have room for */

/* A word of a row of x, zero where there is no such row. */
static inline uint4 load_x(const struct matrix_result *result, int row, int word)
{
    return row < result->rows ? result->x[(size_t)row * result->x_pitch + word] : (uint4)(0);
}

/* sums = the products of slices first .. first + CHUNK_SLICES - 1, as far as there are such. w: output 0 of the tile. */
static inline __attribute__((always_inline)) void multiply_chunk(matrix_sum *sums, const struct matrix_result *result, int row,
                                                                 const __global uint4 *w, int first)
{
    uint4 b[FETCHED_SLICES][B_WORDS], a[A_WORDS];
    int end = min(first + CHUNK_SLICES, result->slices);
    clear_sums(sums);
#pragma unroll 1
    for (int batch = 0; batch < CHUNK_SLICES; batch += FETCHED_SLICES) {
        int slice = first + batch;
#pragma unroll
        for (int s = 0; s < FETCHED_SLICES; s++) {
#pragma unroll
            for (int i = 0; i < B_WORDS; i++) {
                const __global uint4 *from = w + (size_t)(slice + s) * (SLICE_WORDS * PANEL);
                b[s][i] = slice + s < end ? from[B_WORD(LANE, i) * PANEL + B_ROW(LANE, i)] : (uint4)(0);
            }
        }
#pragma unroll
        for (int s = 0; s < FETCHED_SLICES; s++) {
            if (slice + s < end) {
#pragma unroll
                for (int i = 0; i < A_WORDS; i++) {
                    a[i] = load_x(result, row + A_ROW(LANE, i), (slice + s) * SLICE_WORDS + A_WORD(LANE, i));
                }
                multiply_slice(sums, a, b[s]);
            }
        }
    }
}

/* Output 0 of the tile that begins with this output of W. */
static inline const __global uint4 *tile_of(const __global uint4 *w, int column, int slices)
{
    return w + column / PANEL * panel_words(slices) + column % PANEL;
}

/* A warp's place among those that share a tile, and local memory of all of them: TILE_PARTS values each. */
#define TILE_PARTS (MATRIX_SUMS * MATRIX_LANES)
struct tile_warps {
    int warp, warps;
    __local matrix_sum *parts;
};

/* totals = the sums of the tile, in the first of its warps. w: output 0 of the tile; null: this warp has no tile. All
 * work-items of a group come here, with tiles of as many inputs. */
static inline __attribute__((always_inline)) void multiply_tile(matrix_sum *totals, const struct matrix_result *result, int row,
                                                                const __global uint4 *w, const struct tile_warps *at)
{
    int chunks = (result->slices + CHUNK_SLICES - 1) / CHUNK_SLICES;
    matrix_sum sums[MATRIX_SUMS];
    clear_sums(totals);
    for (int first = 0; first < chunks; first += at->warps) {
        if (w && first + at->warp < chunks) {
            multiply_chunk(sums, result, row, w, (first + at->warp) * CHUNK_SLICES);
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                at->parts[at->warp * TILE_PARTS + i * MATRIX_LANES + LANE] = sums[i];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int chunk = 0; at->warp == 0 && chunk < min(at->warps, chunks - first); chunk++) {
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                totals[i] += at->parts[chunk * TILE_PARTS + i * MATRIX_LANES + LANE];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
