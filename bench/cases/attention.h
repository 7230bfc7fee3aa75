/* Shapes of attention, for the tests and the bench. */
#ifndef CLF_BENCH_CASES_ATTENTION_H
#define CLF_BENCH_CASES_ATTENTION_H

/* Queries or keys of a sequence, and widths of a head, around vectors, blocks and work-groups. */
extern const int attention_edge_lengths[];
extern const int attention_edge_length_count;
extern const int attention_edge_widths[];
extern const int attention_edge_width_count;

/* Of a Transformer-base's 8 heads of 64. */
enum { SPEED_HEADS = 8, SPEED_HEAD_WIDTH = 64 };

/* `sequences` of `length` queries and keys each. */
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
