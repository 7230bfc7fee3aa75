#include "cases/attention.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const int attention_edge_lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70};
const int attention_edge_length_count = COUNT(attention_edge_lengths);

/* Widths below a vector, of whole vectors, and of vectors plus a remainder. Each pair of widths compiles a
 * program. */
const int attention_edge_widths[] = {1, 16, 24, 64, 130};
const int attention_edge_width_count = COUNT(attention_edge_widths);

const struct attention_case attention_speed_cases[] = {{64, 32, 0}, {64, 32, 1}, {8, 256, 0}, {1, 2048, 0}};
const int attention_speed_case_count = COUNT(attention_speed_cases);

const struct attention_step_case attention_step_speed_cases[] = {{1, 32}, {64, 32}, {256, 32}, {64, 256}};
const int attention_step_speed_case_count = COUNT(attention_step_speed_cases);
