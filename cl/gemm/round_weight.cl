/* out = W (N, K) rounded from fp32 to bf16: from the panels of product.cl to the panels of
 * product_bf16.cl. */
#include "include/bf16.cl"
#include "math/gemm/layout.h"

/* A group rounds one panel. */
CPU_KERNEL void round_weight_cpu(__global uint *out, const __global float *w, int inputs)
{
    size_t panel = get_group_id(0);
    int pairs = (inputs + 1) / 2;
    out += panel * pairs * PANEL;
    w += panel * inputs * PANEL;
    for (int pair = 0; pair < pairs; pair++) {
        for (int half_panel = 0; half_panel < 2; half_panel++) {
            float16 low = vload16(4 * pair + half_panel, w);
            float16 high = 2 * pair + 1 < inputs ? vload16(4 * pair + 2 + half_panel, w) : (float16)(0.0f);
            vstore16(round_bf16_16(low) >> 16 | round_bf16_16(high), 2 * pair + half_panel, out);
        }
    }
}

#define PAIRS 32 /* maximum input pairs of a panel per group */

#if defined(HAS_MATRIX) && !defined(BF16_IS_PLAIN) /* writes the 16-byte words of gemm_matrix.cl */
#define OPERAND_PRECISION 2
#include "include/operand16.cl"

/* Returns four inputs of the panel starting at input k, zeros beyond the last one. */
static inline float4 load_inputs(const __global float *w, int k, int inputs)
{
    return (float4)(k < inputs ? w[k * PANEL] : 0.0f, k + 1 < inputs ? w[(k + 1) * PANEL] : 0.0f,
                    k + 2 < inputs ? w[(k + 2) * PANEL] : 0.0f, k + 3 < inputs ? w[(k + 3) * PANEL] : 0.0f);
}

GPU_KERNEL void round_weight_gpu(__global uint4 *out, const __global float *w, int inputs)
{
    size_t panel = get_group_id(0);
    int words = (inputs + 31) / 32 * CLF__SLICE_WORDS, first = (int)get_group_id(1) * (2 * PAIRS / CLF__WORD_HALVES);
    int end = min(words, first + 2 * PAIRS / CLF__WORD_HALVES), lane = (int)get_local_id(0) % PANEL;
    out += panel * words * PANEL + lane;
    w += panel * inputs * PANEL + lane;
    for (int word = first + (int)get_local_id(0) / PANEL; word < end; word += GROUP / PANEL) {
        int k = word * CLF__WORD_HALVES;
        out[word * PANEL] = pack_word16(load_inputs(w, k, inputs), load_inputs(w, k + 4, inputs));
    }
}
#else
GPU_KERNEL void round_weight_gpu(__global uint *out, const __global float *w, int inputs)
{
    size_t panel = get_group_id(0);
    int pairs = (inputs + 1) / 2, first = (int)get_group_id(1) * PAIRS, end = min(pairs, first + PAIRS);
    int lane = (int)get_local_id(0) % PANEL;
    out += panel * pairs * PANEL + lane;
    w += panel * inputs * PANEL + lane;
    for (int pair = first + (int)get_local_id(0) / PANEL; pair < end; pair += GROUP / PANEL) {
        float high = 2 * pair + 1 < inputs ? w[(2 * pair + 1) * PANEL] : 0.0f;
        out[pair * PANEL] = round_bf16(w[2 * pair * PANEL]) >> 16 | round_bf16(high);
    }
}
#endif
