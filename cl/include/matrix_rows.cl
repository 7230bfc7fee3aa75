/* Tiles of a GEMM with few rows, with matrix instructions: MATRIX_ROWS rows by MATRIX_COLUMNS outputs.
 * Neighbouring warps of a group share a tile, and each multiplies one chunk of K at a time. Fragments are read
 * directly from global memory; a warp requests the words of W of FETCHED_SLICES slices at once. The order of the
 * sums is the same as in gemm_matrix.cl. Include after matrix_result.cl. */

#ifndef FETCHED_SLICES
#define FETCHED_SLICES (CHUNK_SLICES / B_WORDS) /* limited by registers */
#endif
#define BATCH_SLICES   (FETCHED_SLICES < 2 ? FETCHED_SLICES : 2)
#define BATCHES        (FETCHED_SLICES / BATCH_SLICES)
#ifndef BATCHES_HELD
#define BATCHES_HELD   3
#endif

/* Loads the fragments of a batch of slices of x; slice `end` and later slices are zero. */
static inline __attribute__((always_inline)) void fetch_batch(uint4 (*a)[A_WORDS], const struct matrix_result *result, int row,
                                                              int first, int end)
{
    const __global uint4 *x = result->x + (size_t)row * result->x_pitch;
#pragma unroll
    for (int s = 0; s < BATCH_SLICES; s++) {
        fetch_a(a[s], x + (first + s) * SLICE_WORDS, result->x_pitch, first + s < end ? result->rows - row : 0);
    }
}

/* sums = the products of slices first .. first + CHUNK_SLICES - 1, if they exist. w: output 0 of the tile.
 * Fragments of x are requested BATCHES_HELD - 1 batches ahead. */
static inline __attribute__((always_inline)) void multiply_chunk(matrix_sum *sums, const struct matrix_result *result, int row,
                                                                 const __global uint4 *w, int first, __local uint4 *exchange)
{
    uint4 b[FETCHED_SLICES][B_WORDS], a[BATCHES_HELD][BATCH_SLICES][A_WORDS];
    int end = min(first + CHUNK_SLICES, result->slices);
    clear_sums(sums);
#pragma unroll 1
    for (int slice = first; slice < end; slice += FETCHED_SLICES) {
#pragma unroll
        for (int s = 0; s < FETCHED_SLICES; s++) {
            fetch_b(b[s], w + (size_t)(slice + s) * (SLICE_WORDS * PANEL), slice + s < end);
        }
#pragma unroll
        for (int batch = 0; batch < BATCHES_HELD - 1; batch++) {
            fetch_batch(a[batch], result, row, slice + batch * BATCH_SLICES, end);
        }
#pragma unroll
        for (int batch = 0; batch < BATCHES; batch++) {
            int begin = slice + batch * BATCH_SLICES;
            if (begin < end) {
                if (batch + BATCHES_HELD - 1 < BATCHES) {
                    fetch_batch(a[(batch + BATCHES_HELD - 1) % BATCHES_HELD], result, row,
                                begin + (BATCHES_HELD - 1) * BATCH_SLICES, end);
                }
                exchange_a(a[batch % BATCHES_HELD], BATCH_SLICES, exchange);
#pragma unroll
                for (int s = 0; s < BATCH_SLICES; s++) {
                    multiply_fetched(sums, a[batch % BATCHES_HELD][s], b[batch * BATCH_SLICES + s]);
                }
            }
        }
    }
}

/* Returns the address of output 0 of the tile that starts at output `column` of W. */
static inline const __global uint4 *tile_of(const __global uint4 *w, int column, int slices)
{
    return w + column / PANEL * panel_words(slices) + column % PANEL;
}

/* The index of a warp among the warps that share a tile, and the local memory of all of them: WARP_PARTS
 * values each, for exchange_a() and then for the sums of a chunk. */
#define WARP_PARTS (CLF__WARP_BYTES / 4)
#if A_EXCHANGE_WORDS * BATCH_SLICES * 16 > CLF__WARP_BYTES
#error "CLF__WARP_BYTES is too small"
#endif
struct tile_warps {
    int warp, warps;
    __local matrix_sum *parts;
};

/* totals = the sums of the tile, valid in the first of its warps. w: output 0 of the tile; null: this warp has no
 * tile. All work-items of a group must call this, with tiles of the same number of inputs. */
static inline __attribute__((always_inline)) void multiply_tile(matrix_sum *totals, const struct matrix_result *result, int row,
                                                                const __global uint4 *w, const struct tile_warps *at)
{
    int chunks = (result->slices + CHUNK_SLICES - 1) / CHUNK_SLICES;
    matrix_sum sums[MATRIX_SUMS];
    clear_sums(totals);
    for (int first = 0; first < chunks; first += at->warps) {
        if (w && first + at->warp < chunks) {
            multiply_chunk(sums, result, row, w, (first + at->warp) * CHUNK_SLICES,
                           (__local uint4 *)(at->parts + at->warp * WARP_PARTS));
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                at->parts[at->warp * WARP_PARTS + i * MATRIX_LANES + LANE] = sums[i];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int chunk = 0; at->warp == 0 && chunk < min(at->warps, chunks - first); chunk++) {
#pragma unroll
            for (int i = 0; i < MATRIX_SUMS; i++) {
                totals[i] += at->parts[chunk * WARP_PARTS + i * MATRIX_LANES + LANE];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
