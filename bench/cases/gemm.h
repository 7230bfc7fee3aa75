/* GEMM shapes for tests and benchmarks. */
#ifndef CLF_BENCH_CASES_GEMM_H
#define CLF_BENCH_CASES_GEMM_H

/* y (rows, outputs) = x (rows, inputs) Wᵀ */
struct gemm_case {
    int rows, outputs, inputs;
};

/* Shapes around the sizes of the kernels' blocks, tiles, panels and slices. */
extern const struct gemm_case gemm_edge_cases[];
extern const int gemm_edge_case_count;

/* Shapes of Transformer-base: encoding 64 sentences of 32 tokens, then decoding steps of 1 to 64 rows. */
extern const struct gemm_case gemm_speed_cases[];
extern const int gemm_speed_case_count;

/* Shapes of a training step with 64 sentence pairs of 32 tokens, with logits in chunks of rows. */
extern const struct gemm_case gemm_gradient_speed_cases[];
extern const int gemm_gradient_speed_case_count;

/* c[b] (m, n) = a[b] (m, k) op(b[b]) */
struct gemm_batched_case {
    int batches, m, n, k;
};
extern const struct gemm_batched_case gemm_batched_edge_cases[];
extern const int gemm_batched_edge_case_count;
extern const struct gemm_batched_case gemm_batched_speed_cases[];
extern const int gemm_batched_speed_case_count;

#endif
