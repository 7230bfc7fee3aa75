#include "cases/gemm.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const struct gemm_case gemm_edge_cases[] = {
    {1, 1, 1},     {1, 31, 17},  {1, 32, 64},   {1, 33, 65},   {2, 64, 63},  {3, 65, 16},    {4, 16, 15},
    {5, 15, 31},   {6, 97, 33},  {7, 96, 129},  {8, 32, 32},   {9, 63, 128}, {15, 40, 1},    {16, 1, 40},
    {17, 33, 127}, {31, 48, 96}, {32, 128, 64}, {33, 127, 65}, {63, 64, 16}, {64, 64, 17},   {65, 65, 15},
    {70, 129, 48}, {1, 700, 40}, {129, 130, 8}, {257, 34, 5},  {8, 513, 70}, {40, 200, 300},
};
const int gemm_edge_case_count = COUNT(gemm_edge_cases);

const struct gemm_case gemm_speed_cases[] = {
    {2048, 512, 512}, {2048, 1536, 512}, {2048, 2048, 512}, {2048, 512, 2048}, {256, 512, 512},
    {64, 512, 512},   {64, 2048, 512},   {64, 512, 2048},   {32, 512, 512},    {16, 512, 512},
    {8, 512, 512},    {8, 2048, 512},    {8, 512, 2048},    {4, 512, 512},     {4, 2048, 512},
    {2, 2048, 512},   {1, 512, 512},     {1, 2048, 512},    {1, 512, 2048},    {1, 32000, 512},
    {4, 32000, 512},  {8, 32000, 512},   {64, 32000, 512},
};
const int gemm_speed_case_count = COUNT(gemm_speed_cases);

const struct gemm_case gemm_gradient_speed_cases[] = {
    {2048, 512, 512}, {2048, 1536, 512}, {2048, 2048, 512}, {2048, 512, 2048}, {512, 32000, 512},
};
const int gemm_gradient_speed_case_count = COUNT(gemm_gradient_speed_cases);

const struct gemm_batched_case gemm_batched_edge_cases[] = {
    {1, 1, 1, 1},    {3, 7, 5, 3},    {2, 15, 16, 17},  {2, 31, 33, 32},  {1, 32, 32, 64},
    {4, 1, 40, 64},  {2, 33, 31, 65}, {3, 65, 64, 16},  {1, 9, 100, 130}, {2, 100, 9, 15},
    {5, 64, 1, 129}, {70, 3, 4, 2},   {1, 300, 35, 70}, {2, 17, 48, 0},
};
const int gemm_batched_edge_case_count = COUNT(gemm_batched_edge_cases);

const struct gemm_batched_case gemm_batched_speed_cases[] = {
    {512, 32, 32, 64},
    {256, 64, 64, 64},
    {256, 128, 64, 128},
    {512, 1, 32, 64},
};
const int gemm_batched_speed_case_count = COUNT(gemm_batched_speed_cases);
