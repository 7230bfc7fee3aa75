/* Packs rows in vectors of 16 rows, for CPU variants of attention. Included by attention_blocks.cl; not a program. */

/* One of several identical rounds that transpose a square with one row per register: to[2 i] and to[2 i + 1] are
 * the first and second halves of two rows, interleaved. */
static inline void deal(floatv *to, const floatv *from)
{
#pragma unroll
    for (int i = 0; i < VECTOR_LANES / 2; i++) {
        floatv a = from[i], b = from[i + VECTOR_LANES / 2];
#if VECTOR_LANES == 16
        to[2 * i] = (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6,
                              a.s7, b.s7);
        to[2 * i + 1] = (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se,
                                  a.sf, b.sf);
#else
        to[2 * i] = (float8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3);
        to[2 * i + 1] = (float8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7);
#endif
    }
}

static inline void transpose(floatv *rows)
{
    floatv other[VECTOR_LANES];
    deal(other, rows);
    deal(rows, other);
    deal(other, rows);
#if VECTOR_LANES == 16
    deal(rows, other);
#else
#pragma unroll
    for (int i = 0; i < VECTOR_LANES; i++) {
        rows[i] = other[i];
    }
#endif
}

/* Prefetches the rows of a head, because they are strided and the hardware does not prefetch them. */
static inline void fetch_rows(const __global float *rows, int stride, int count, int width)
{
    for (int i = 0; i < count; i++) {
        for (int c = 0; c < width; c += LANES) {
            FETCH_SOON(rows + (size_t)i * stride + c);
        }
    }
}

/* Loads columns d .. d + 15 of a row of `width`, zeros beyond it. Inlined early: later inlining leaves an alias
 * intrinsic that Oclgrind does not know. */
#define load_columns(row, d, width) (wide_load_columns(row, d, width).v)
static inline __attribute__((always_inline)) struct wide wide_load_columns(const __global float *row, int d, int width)
{
    return WIDE(d + LANES <= width ? vload16(0, row + d) : load_part(row + d, width - d, 0.0f));
}

/* Packs count rows of `width` times scale: packed[n * width + d] is column d of rows 16 n .. 16 n + 15;
 * the last row repeats beyond the end. */
static inline void pack_rows(float16 *packed, const __global float *rows, int stride, int count, int width, float scale)
{
    for (int first = 0; first < count; first += LANES, packed += width) {
        for (int part = 0; part < LANES; part += VECTOR_LANES) {
            for (int d = 0; d < width; d += VECTOR_LANES) {
                floatv tile[VECTOR_LANES];
#pragma unroll
                for (int i = 0; i < VECTOR_LANES; i++) {
                    const __global float *row = rows + (size_t)min(first + part + i, count - 1) * stride + d;
                    tile[i] = load_lanes(row, width - d);
                }
                transpose(tile);
#pragma unroll
                for (int i = 0; i < VECTOR_LANES; i++) {
                    if (d + i < width) {
                        vstorev(tile[i] * scale, 0, (float *)&packed[d + i] + part);
                    }
                }
            }
        }
    }
}
