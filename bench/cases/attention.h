/* Shapes of attention for tests and benchmarks. */
#ifndef CLF_BENCH_CASES_ATTENTION_H
#define CLF_BENCH_CASES_ATTENTION_H

/* Query or key counts of a sequence, and head widths, around vector, block and work-group sizes. */
extern const int attention_edge_lengths[];
extern const int attention_edge_length_count;
extern const int attention_edge_widths[];
extern const int attention_edge_width_count;

/* Transformer-base: 8 heads of width 64. */
enum { SPEED_HEADS = 8, SPEED_HEAD_WIDTH = 64 };

/* `sequences` sequences of `length` queries and keys each. */
struct attention_case {
    int sequences, length, causal;
};
extern const struct attention_case attention_speed_cases[];
extern const int attention_speed_case_count;

/* A decoding step of `rows` hypotheses with `length` cached positions each. */
struct attention_step_case {
    int rows, length;
};
extern const struct attention_step_case attention_step_speed_cases[];
extern const int attention_step_speed_case_count;

#endif
