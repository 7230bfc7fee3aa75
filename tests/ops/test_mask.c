/* Masks on padded scores. */
#include <math.h>
#include <string.h>

#include "support/attention_problem.h"

static void check(const struct attention_shape *shape, uint64_t seed)
{
    struct attention_problem problem = support_attention_problem(shape, seed);
    const struct reference_attention *reference = &problem.reference;
    int rows = reference->sequences * reference->heads * reference->max_queries,
        columns = reference->max_keys;
    struct support_random random = {seed};
    size_t count = (size_t)rows * (size_t)columns;
    float *scores = support_uniform_array(&random, count, 4.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__attention_call call = support_attention_call(device, &problem);
        struct clf__tensor tensor = support_tensor(device, CLF__F32, rows, columns, scores);
        assert_ok(clf__mask_forward(tensor, &call.ranges, reference->heads, &call.mask));
        float *masked = support_read(tensor);
        for (int n = 0; n < rows; n++) {
            int i = n % reference->max_queries, h = n / reference->max_queries % reference->heads;
            int b = n / reference->max_queries / reference->heads;
            for (int j = 0; j < columns; j++) {
                size_t at = (size_t)n * (size_t)columns + (size_t)j;
                double expected = (double)scores[at] + reference_attention_mask(reference, b, h, i, j);
                assert_true(isinf(expected) ? masked[at] == -INFINITY : fabs(masked[at] - expected) < 2e-6);
            }
        }
    }
    support_free_all();
}

static void test_all_combinations(void **state)
{
    (void)state;
    for (int masks = 0; masks < 16; masks++) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = 1,
                                        .value_width = 1,
                                        .sequences = 4,
                                        .queries = {5, 17, 0, 33},
                                        .keys = {9, 17, 4, 20},
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 4 : 0};
        check(&shape, 20 + (uint64_t)masks);
    }
}

static void test_edge_sizes(void **state)
{
    (void)state;
    static const int sizes[] = {1, 15, 16, 17, 63, 64, 65, 129};
    int count = support_small() ? 4 : (int)(sizeof sizes / sizeof *sizes);
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 1,
                                        .key_width = 1,
                                        .value_width = 1,
                                        .sequences = 2,
                                        .queries = {sizes[i], 3},
                                        .keys = {7, sizes[i]},
                                        .causal = 1,
                                        .relative = 2};
        check(&shape, 50 + (uint64_t)i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_all_combinations, support_teardown),
        cmocka_unit_test_teardown(test_edge_sizes, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
