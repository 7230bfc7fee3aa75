/* Shapes of row-wise ops for tests and benchmarks. */
#ifndef CLF_BENCH_CASES_ROWS_H
#define CLF_BENCH_CASES_ROWS_H

struct rows_case {
    int rows, columns;
};

/* Column counts around vector and work-group sizes and their multiples. */
extern const int row_edge_columns[];
extern const int row_edge_column_count;
/* Embedding widths, and vocabulary sizes for top-k. */
extern const int embedding_edge_columns[];
extern const int embedding_edge_column_count;
extern const int top_k_edge_columns[];
extern const int top_k_edge_column_count;

/* Shapes of Transformer-base, which encodes 64 sentences of 32 tokens and then decodes with 1 to 256 rows. */
extern const struct rows_case softmax_speed_cases[]; /* scores of batched attention */
extern const int softmax_speed_case_count;
extern const struct rows_case layernorm_speed_cases[];
extern const int layernorm_speed_case_count;
extern const struct rows_case embedding_speed_cases[];
extern const int embedding_speed_case_count;
extern const struct rows_case top_k_speed_cases[]; /* logits: top-k by itself, and after the projection */
extern const int top_k_speed_case_count;
enum { SPEED_VOCABULARY = 32000, SPEED_CANDIDATES = 8 };

#endif
