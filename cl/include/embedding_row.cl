/* A row of an embedding stored as clf__weight_layout() describes. Include file, not a program.
 *
 * Needs PRECISION, a value of enum clf_precision. */

/* TOGETHER: the size of a group of adjacent inputs in the layout. GROUPS_MULTIPLE: the number of groups in a panel
 * is a multiple of this. TAIL: elements after a panel. */
#define TAIL 0
#if PRECISION != 0 && defined(HAS_MATRIX) && !(PRECISION == 2 && defined(BF16_IS_PLAIN)) &&                            \
    !(PRECISION == 3 && defined(INT8_IS_PLAIN))
#define TOGETHER        (PRECISION == 3 ? 16 : 8)
#define GROUPS_MULTIPLE 4
#else
#define GROUPS_MULTIPLE 1
#endif
#if PRECISION == 0
typedef float embedding_element;
#define TOGETHER  1
#define LOAD(p)   (*(p))
#define LOAD16(p) vload16(0, p)
#elif PRECISION == 1
typedef half embedding_element;
#ifndef TOGETHER
#define TOGETHER 1
#endif
#define LOAD(p)   vload_half(0, p)
#define LOAD16(p) vload_half16(0, p)
#elif PRECISION == 2
typedef ushort embedding_element;
#ifndef TOGETHER
#define TOGETHER 2
#endif
#define LOAD(p)  as_float((uint) * (p) << 16)
#elif PRECISION == 3
typedef char embedding_element;
#ifndef TOGETHER
#define TOGETHER 4
#endif
#undef TAIL
#define TAIL    256 /* 32 scales, and data used only by GEMMs */
#define LOAD(p) ((float)*(p))
#else
#error "no such PRECISION"
#endif

/* Returns the address of column 0 of row v. */
static const __global embedding_element *embedding_row(const __global embedding_element *e, int panel, int v, int columns)
{
    int groups = (columns + TOGETHER * GROUPS_MULTIPLE - 1) / (TOGETHER * GROUPS_MULTIPLE) * GROUPS_MULTIPLE;
    return e + (size_t)(v / panel) * ((size_t)groups * panel * TOGETHER + TAIL) + v % panel * TOGETHER;
}

/* Returns column k of a row; `row` is the address of column 0. */
static float element_of_row(const __global embedding_element *row, int panel, int k)
{
    return LOAD(row + (size_t)(k / TOGETHER) * panel * TOGETHER + k % TOGETHER);
}

/* Returns the scale of row v. */
static float scale_of_embedding(const __global embedding_element *e, int panel, int v, int columns, float scale)
{
#if PRECISION == 3
    const __global char *end = embedding_row(e, panel, (v / panel + 1) * panel, columns);
    return scale * ((const __global float *)(end - TAIL))[v % panel];
#else
    return scale;
#endif
}

/* Returns the table row to add for position n, or null. */
static const __global float *added_row(const __global float *table, int table_offset, int table_stride, int table_rows,
                                       const __global int *positions, int n)
{
    int position = table ? positions[n] : -1;
    return position >= 0 && position < table_rows ? table + table_offset + (size_t)position * table_stride : 0;
}

/* out (D) = scale * E[id] + added, which may be null. For the CPU variant: a row of a panel is spread over cache
 * lines at equal distances, which the hardware prefetches; whole rows (panel 1) are read as vectors. */
static inline void embed_row(__global float *out, int columns, const __global embedding_element *e, int panel, int outputs,
                             int id, float scale, const __global float *added)
{
    int is_row = id >= 0 && id < outputs, k = 0;
    const __global embedding_element *row = embedding_row(e, panel, is_row ? id : 0, columns);
    float factor = scale_of_embedding(e, panel, is_row ? id : 0, columns, scale);
#ifdef LOAD16
    if (is_row && panel == 1) {
        for (; k + 16 <= columns; k += 16) {
            float16 value = factor * LOAD16(row + k);
            vstore16(added ? value + vload16(0, added + k) : value, 0, out + k);
        }
    }
#endif
    for (; k < columns; k++) {
        float value = is_row ? factor * element_of_row(row, panel, k) : 0.0f;
        out[k] = added ? value + added[k] : value;
    }
}
