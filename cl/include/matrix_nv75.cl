/* Matrix instructions of NVIDIA GPUs with compute capability 7.5 or later: mma.sync of PTX, m16n8k8 for halves and m8n8k16 for
 * bytes. See matrix.cl. There is none for bf16, and no cp.async.
 *
 * An instruction has half of the K of matrix_nv80.cl's (bytes: and half of the rows), and the same registers for it. */
#if PRECISION == 1
#define MMA_HALF(sums, a0, a1, b0)                                                                                     \
    __asm__ volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"   \
                     : "+f"((sums)[0]), "+f"((sums)[1]), "+f"((sums)[2]), "+f"((sums)[3])                              \
                     : "r"(a0), "r"(a1), "r"(b0))
#elif PRECISION == 3
#define MMA_ROWS(sums, a0, b0)                                                                                         \
    __asm__ volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"                    \
                     : "+r"((sums)[0]), "+r"((sums)[1])                                                                \
                     : "r"(a0), "r"(b0))
#define MMA_HALF(sums, a0, a1, b0)                                                                                     \
    {                                                                                                                  \
        MMA_ROWS(sums, a0, b0);                                                                                        \
        MMA_ROWS((sums) + 2, a1, b0);                                                                                  \
    }
#else
#error "nv75 has no matrix instructions for this PRECISION"
#endif

#define MMA(sums, a0, a1, a2, a3, b0, b1)                                                                              \
    {                                                                                                                  \
        MMA_HALF(sums, a0, a1, b0);                                                                                    \
        MMA_HALF(sums, a2, a3, b1);                                                                                    \
    }
#include "include/matrix_mma.cl"
