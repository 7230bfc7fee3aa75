/* out = W (N, K) rounded to bf16 from fp32: from the panels of product.cl to those of product_bf16.cl. */
#include "include/bf16.cl"
#include "gemm/layout.h"

/* A group: one panel. */
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

/* A group: up to PAIRS pairs of inputs of one panel. */
#define PAIRS 32
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
