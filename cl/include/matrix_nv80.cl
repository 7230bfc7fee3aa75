/* Matrix instructions of NVIDIA GPUs with compute capability 8.0 or later: mma.sync of PTX (m16n8k16 for halves, m16n8k32 for
 * bytes) and cp.async. See matrix.cl. */
#if PRECISION == 1
#define MMA_INSTRUCTION "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define MMA_SUM         "+f"
#elif PRECISION == 2
#define MMA_INSTRUCTION "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define MMA_SUM         "+f"
#else
#define MMA_INSTRUCTION "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#define MMA_SUM         "+r"
#endif

#define MMA(sums, a0, a1, a2, a3, b0, b1)                                                                              \
    __asm__ volatile(MMA_INSTRUCTION " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
                     : MMA_SUM((sums)[0]), MMA_SUM((sums)[1]), MMA_SUM((sums)[2]), MMA_SUM((sums)[3])                  \
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))

#include "include/matrix_mma.cl"

#if PRECISION == 1
#define ROUND_INSTRUCTION "cvt.rn.f16x2.f32"
#elif PRECISION == 2
#define ROUND_INSTRUCTION "cvt.rn.bf16x2.f32"
#endif
#ifdef ROUND_INSTRUCTION
static inline uint round_pair(float low, float high)
{
    uint pair;
    __asm__(ROUND_INSTRUCTION " %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
#define ROUND_PAIR round_pair
#endif

#define COPY_WORD(to, from)                                                                                            \
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;"                                                       \
                     :                                                                                                 \
                     : "r"((uint)(size_t)(to)), "l"(from)                                                              \
                     : "memory")
#define COPY_WORD_IF(to, from, condition)                                                                              \
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"                                                   \
                     :                                                                                                 \
                     : "r"((uint)(size_t)(to)), "l"(from), "r"((condition) ? 16 : 0)                                   \
                     : "memory")
#define COPIES_END            __asm__ volatile("cp.async.commit_group;" : : : "memory")
#define WAIT_FOR_COPIES_OF(n) __asm__ volatile("cp.async.wait_group " #n ";" : : : "memory")
#define WAIT_FOR_COPIES(n)    WAIT_FOR_COPIES_OF(n)
