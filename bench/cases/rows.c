#include "cases/rows.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const int row_edge_columns[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 129, 512, 777, 1001};
const int row_edge_column_count = COUNT(row_edge_columns);

const int embedding_edge_columns[] = {1, 15, 16, 17, 33, 64, 65, 129};
const int embedding_edge_column_count = COUNT(embedding_edge_columns);

/* Values around the sizes of vectors, work-groups and blocks. */
const int top_k_edge_columns[] = {1,   2,   15,  16,  17,   31,   33,   63,   64,   65,   127,  128,  129,
                                  255, 256, 257, 769, 1023, 1025, 2047, 2049, 4097, 8191, 8193, 16385};
const int top_k_edge_column_count = COUNT(top_k_edge_columns);

const struct rows_case softmax_speed_cases[] = {{16384, 32}, {2048, 512}};
const int softmax_speed_case_count = COUNT(softmax_speed_cases);

const struct rows_case layernorm_speed_cases[] = {{2048, 512}, {64, 512}, {1, 512}};
const int layernorm_speed_case_count = COUNT(layernorm_speed_cases);

const struct rows_case embedding_speed_cases[] = {{2048, 512}, {64, 512}};
const int embedding_speed_case_count = COUNT(embedding_speed_cases);

const struct rows_case top_k_speed_cases[] = {
    {1, SPEED_VOCABULARY}, {64, SPEED_VOCABULARY}, {256, SPEED_VOCABULARY}};
const int top_k_speed_case_count = COUNT(top_k_speed_cases);
