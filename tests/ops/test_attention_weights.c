/* Attention weights: the mean of the probabilities over the first heads. */
#include <math.h>
#include <string.h>

#include "cases/attention.h"
#include "support/attention_problem.h"

static struct clf_device *device_of(int variant)
{
    return support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_FUSED);
}

/* (query rows, columns) from the reference; zeros after a sequence's keys. */
static double *expect(const struct attention_problem *problem, int heads, int columns)
{
    const struct reference_attention *reference = &problem->reference;
    size_t outputs = (size_t)(problem->shape.heads * problem->shape.value_width);
    size_t keys = (size_t)reference->max_keys, all = (size_t)reference->heads;
    size_t queries = (size_t)reference->max_queries;
    double *y = support_array((size_t)problem->query_rows * outputs, sizeof *y);
    double *maps = support_array((size_t)reference->sequences * all * queries * keys, sizeof *maps);
    double *mean = support_array((size_t)problem->query_rows * (size_t)columns, sizeof *mean);
    reference_attention_forward(y, maps, problem->q, problem->k, problem->v, reference);
    for (int b = 0; b < reference->sequences; b++) {
        const int32_t *range = reference->ranges + 4 * b;
        for (int i = 0; i < range[1]; i++) {
            double *row = mean + (size_t)(range[0] + i) * (size_t)columns;
            for (int h = 0; h < heads; h++) {
                const double *map = maps + (((size_t)b * all + (size_t)h) * queries + (size_t)i) * keys;
                for (int j = 0; j < range[3]; j++) {
                    row[j] += map[j] / heads;
                }
            }
        }
    }
    return mean;
}

/* `more` columns than the longest sequence has keys. */
static float *run(struct clf_device *device, const struct attention_problem *problem, int heads, int more)
{
    const struct attention_shape *shape = &problem->shape;
    int key_columns = shape->heads * shape->key_width, columns = problem->reference.max_keys + more;
    struct clf__attention_call call = support_attention_call(device, problem);
    struct clf__tensor q =
        support_attention_operand(device, shape->column_views, problem->query_rows, key_columns, problem->q);
    struct clf__tensor k = support_attention_keys(device, problem);
    struct clf__tensor y =
        support_attention_operand(device, shape->column_views, problem->query_rows, columns, NULL);
    assert_ok(clf__attention_weights_forward(y, q, k, heads, &call));
    return support_read(y);
}

static void check(const struct attention_shape *shape, int heads)
{
    static uint64_t seed = 40;
    struct attention_problem problem = support_attention_problem(shape, seed++);
    for (int more = 0; more < 6; more += 5) {
        int columns = problem.reference.max_keys + more;
        const double *expected = expect(&problem, heads, columns);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            assert_close(run(device_of(variant), &problem, heads, more), expected,
                         (size_t)problem.query_rows * (size_t)columns, 2e-6);
        }
    }
    support_free_all();
}

static void test_lengths(void **state)
{
    (void)state;
    const int *lengths = attention_edge_lengths;
    int count = support_small() ? 5 : attention_edge_length_count;
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 1, .sequences = 2};
        shape.queries[0] = lengths[i];
        shape.keys[0] = lengths[count - 1 - i];
        shape.queries[1] = lengths[(i + 5) % count];
        shape.keys[1] = lengths[i];
        check(&shape, 1 + i % 2);
    }
}

static void test_widths(void **state)
{
    (void)state;
    for (int i = 0; i < attention_edge_width_count; i++) {
        struct attention_shape shape = {
            .heads = 3, .value_width = 1, .sequences = 2, .queries = {5, 3}, .keys = {18, 67}, .hidden = 1};
        shape.key_width = attention_edge_widths[i];
        shape.column_views = i % 2;
        check(&shape, 1 + i % 3);
    }
}

/* Keys as halves. */
static void test_halves(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 3,
                                    .key_width = 24,
                                    .value_width = 1,
                                    .sequences = 2,
                                    .queries = {5, 3},
                                    .keys = {18, 67},
                                    .hidden = 1,
                                    .column_views = 1,
                                    .key_type = CLF__F16};
    check(&shape, 2);
}

/* Sequences without queries and without keys; fully masked rows are exactly zero. */
static void test_nothing_to_see(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 1,
                                    .sequences = 4,
                                    .queries = {3, 0, 20, 1},
                                    .keys = {9, 7, 0, 70},
                                    .hidden = 1};
    check(&shape, 2);
    struct attention_problem problem = support_attention_problem(&shape, 7);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        const float *y = run(device_of(variant), &problem, 2, 0);
        for (int i = 0; i < 23 * 70; i++) {
            assert_true(y[i] == 0.0f);
        }
    }
    struct attention_shape none = {.heads = 1, .key_width = 16, .value_width = 1, .sequences = 0};
    check(&none, 1);
}

/* Keys beyond y's columns are ignored. */
static void test_few_columns(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 24, .value_width = 1, .sequences = 1, .queries = {4}, .keys = {90}};
    struct attention_problem problem = support_attention_problem(&shape, 8);
    struct attention_problem cut = problem;
    const int32_t range[4] = {0, 4, 0, 80};
    cut.reference.ranges = range;
    cut.reference.max_keys = 80;
    const double *expected = expect(&cut, 1, 80);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        assert_close(run(device_of(variant), &problem, 1, -10), expected, 4 * 80, 2e-6);
    }
}

/* Large scores do not overflow; NaN stays visible. */
static void test_large_scores(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 16, .value_width = 1, .sequences = 1, .queries = {3}, .keys = {70}};
    struct attention_problem problem = support_attention_problem(&shape, 9);
    problem.reference.scale = 100.0;
    const double *expected = expect(&problem, 1, 70);
    float *q = support_array(3 * 16, sizeof *q);
    memcpy(q, problem.q, 3 * 16 * sizeof *q);
    q[0] = NAN;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct attention_problem broken = problem;
        broken.q = q;
        assert_close(run(device_of(variant), &problem, 1, 0), expected, 3 * 70, 1e-3);
        const float *y = run(device_of(variant), &broken, 1, 0);
        assert_true(isnan(y[0]) && isnan(y[69]));
        assert_close(y + 70, expected + 70, 2 * 70, 1e-3);
    }
}

/* Each sequence gives equal bits by itself and in a batch. */
static void test_batch_invariance(void **state)
{
    (void)state;
    struct attention_shape together = {.heads = 2,
                                       .key_width = 24,
                                       .value_width = 1,
                                       .sequences = 4,
                                       .queries = {4, 1, 17, 3},
                                       .keys = {33, 40, 17, 170}};
    struct attention_problem problem = support_attention_problem(&together, 10);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        const float *y = run(device_of(variant), &problem, 2, 0);
        for (int b = 0; b < together.sequences; b++) {
            const int32_t *range = problem.reference.ranges + 4 * b;
            struct attention_shape shape = together;
            shape.sequences = 1;
            shape.queries[0] = range[1];
            shape.keys[0] = range[3];
            struct attention_problem alone = support_attention_problem(&shape, 11);
            alone.q = problem.q + range[0] * 2 * 24;
            alone.k = problem.k + range[2] * 2 * 24;
            const float *row = run(device_of(variant), &alone, 2, 0);
            for (int i = 0; i < range[1]; i++) {
                assert_memory_equal(row + i * range[3], y + (range[0] + i) * 170,
                                    (size_t)range[3] * sizeof *y);
            }
        }
    }
}

/* More rows than groups: each group processes further rows. */
static void test_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 33000 };
    if (support_small()) {
        skip();
    }
    const int32_t range[4] = {0, ROWS, 0, 1};
    float *values = support_array(ROWS, sizeof *values);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = device_of(variant);
        struct clf__attention_call call = {
            .heads = {1, 1, 1, 1.0f},
            .ranges = {support_tensor(device, CLF__I32, 1, 4, range), 1, ROWS, 1, 0, 0},
            .mask = CLF__MASK_NONE,
        };
        struct clf__tensor x = support_tensor(device, CLF__F32, ROWS, 1, values);
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, 1, NULL);
        assert_ok(clf__attention_weights_forward(y, x, x, 1, &call));
        const float *read = support_read(y);
        for (int i = 0; i < ROWS; i++) {
            assert_true(read[i] == 1.0f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_halves, support_teardown),
        cmocka_unit_test_teardown(test_nothing_to_see, support_teardown),
        cmocka_unit_test_teardown(test_few_columns, support_teardown),
        cmocka_unit_test_teardown(test_large_scores, support_teardown),
        cmocka_unit_test_teardown(test_batch_invariance, support_teardown),
        cmocka_unit_test_teardown(test_many_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
