/* Instruction set levels. C and OpenCL both include this file.
 *
 * A level of the CPU variant is defined by its row of runtime/tuning/levels.c and by cl/include/level.cl; a
 * level of the GPU variant by a file cl/include/matrix_<level>.cl. */
#ifndef CLF_TUNING_LEVELS_H
#define CLF_TUNING_LEVELS_H

/* Flags for the instructions of a device; cl/device/probe.cl returns a sum of them. */
#define CLF__WIDE          1   /* 512-bit registers, but only for plain OpenCL C code */
#define CLF__AVX2          2   /* with FMA and F16C */
#define CLF__DOT_INT8_256  4   /* vpdpbusd on 256 bits (AVX-VNNI, or AVX512_VNNI with AVX512VL) */
#define CLF__AVX512        8   /* AVX512F and AVX512BW */
#define CLF__DOT_INT8      16  /* vpdpbusd on 512 bits (AVX512_VNNI) */
#define CLF__DOT_BF16      32  /* vdpbf16ps on 512 bits (AVX512_BF16) */
#define CLF__NEON          64  /* Advanced SIMD of AArch64, on 128 bits */
#define CLF__DOT_INT8_128  128 /* sdot on 128 bits (FEAT_DotProd) */
#define CLF__TILES         256 /* AMX tiles for int8 and bf16, if the operating system permits their use */
#define CLF__TILES_REFUSED 512 /* the processor has AMX, but the operating system does not permit its use */

/* Flags for the matrix instructions of the GPU variant; cl/device/probe_matrix.cl checks each of them. */
#define CLF__MATRIX_NV80     1024 /* mma.sync and cp.async of NVIDIA's GPUs, compute capability 8.0 and later */
#define CLF__MATRIX_MFMA     2048   /* v_mfma of AMD's CDNA GPUs, gfx90a and later */
#define CLF__MATRIX_WMMA11   4096   /* v_wmma of AMD's RDNA3 GPUs */
#define CLF__MATRIX_WMMA12   8192   /* v_wmma of AMD's RDNA4 GPUs */
#define CLF__MATRIX_EMULATED 16384  /* NV80 in plain OpenCL C, for tests */
#define CLF__MATRIX_NV75     32768  /* mma.sync of NVIDIA's GPUs, compute capability 7.5 and later */
#define CLF__MATRIX_DPAS8    65536  /* dpas of Intel's GPUs with sub-groups of 8 */
#define CLF__MATRIX_DPAS16   131072 /* dpas of Intel's GPUs with sub-groups of 16 */
#define CLF__MATRIX_ANY                                                                                      \
    (CLF__MATRIX_NV80 | CLF__MATRIX_NV75 | CLF__MATRIX_MFMA | CLF__MATRIX_WMMA11 | CLF__MATRIX_WMMA12 |      \
     CLF__MATRIX_DPAS8 | CLF__MATRIX_DPAS16 | CLF__MATRIX_EMULATED)

/* Any int8 dot product instruction. */
#define CLF__DOT_INT8_ANY (CLF__DOT_INT8_256 | CLF__DOT_INT8 | CLF__DOT_INT8_128)

/* The layout of packed int8 activations; the value is the size of an element in bytes. */
#define CLF__INT8_FLOAT 4 /* exact products in fp32 */
#define CLF__INT8_PAIR  2 /* sums of two 16-bit products (vpmaddwd) */
#define CLF__INT8_DOT   1 /* sums of four 8-bit products */

#ifndef __OPENCL_C_VERSION__
#include <clformer/device.h>

/* The matrix instructions of a level; cl/include/matrix_<level>.cl defines them. */
struct clf__matrix_level {
    const char *define; /* the macro that selects the file; NULL: the level has none */
    int lanes;          /* work-items per warp */
    int rows, columns;  /* tile of an instruction */
    int query_tiles;    /* maximum query tiles per warp in cl/attention/attention_matrix.cl */
    int has_bf16;
    int has_few_registers; /* GEMM uses small tiles; attention and persistent launches use no matrix
                              instructions */
};

struct clf__level {
    clf_instructions name;
    int instructions; /* instructions that the level requires */
    int lanes;        /* floats per vector of a register block: 8 or 16 */
    int block_rows;   /* rows of a register block of two vectors, at most 8 */
    int int8_bytes;   /* one of CLF__INT8_* */
    struct clf__matrix_level matrix;
};

/* X(NAME, word): the levels of enum clf_instructions and their names for users. */
#define CLF__LEVEL_LIST(X)                                                                                   \
    X(PORTABLE, "portable")                                                                                  \
    X(AVX2, "avx2")                                                                                          \
    X(AVX_VNNI, "avx-vnni")                                                                                  \
    X(AVX512, "avx512")                                                                                      \
    X(AVX512_VNNI, "avx512-vnni")                                                                            \
    X(AVX512_BF16, "avx512-bf16")                                                                            \
    X(AMX, "amx")                                                                                            \
    X(NEON, "neon")                                                                                          \
    X(DOTPROD, "dotprod")                                                                                    \
    X(NV80, "nv80")                                                                                          \
    X(MFMA, "mfma")                                                                                          \
    X(WMMA11, "wmma11")                                                                                      \
    X(WMMA12, "wmma12")                                                                                      \
    X(EMULATED, "emulated")                                                                                  \
    X(NV75, "nv75")                                                                                          \
    X(DPAS8, "dpas8")                                                                                        \
    X(DPAS16, "dpas16")

/* The words for the values of enum clf_instructions, "auto" first, terminated by NULL. */
extern const char *const clf__level_words[];

/* Returns the level without special instructions, which every device supports. */
const struct clf__level *clf__level_portable(void);

/* Returns the level `name`, or with AUTO the best level, if the device has the instructions; otherwise
 * NULL. */
const struct clf__level *clf__level_find(clf_instructions name, int instructions);
#endif

#endif
