/* Gradients of attention, and dropout of its weights. Each pair of widths is a program that takes seconds to
 * compile, so most tests share one. */
#include <math.h>
#include <string.h>

#include "cases/attention.h"
#include "support/attention_problem.h"

enum gradient { QUERY, KEY, VALUE, GRADIENTS };

/* Results of a call, packed, on the host. */
struct results {
    float *y, *gradients[GRADIENTS], *relative;
};

static struct clf_device *fused(int variant)
{
    return support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_FUSED);
}

static int columns_of(const struct attention_problem *problem, int gradient)
{
    const struct attention_shape *shape = &problem->shape;
    return shape->heads * (gradient == VALUE ? shape->value_width : shape->key_width);
}

static int rows_of(const struct attention_problem *problem, int gradient)
{
    return gradient == QUERY ? problem->query_rows : problem->key_rows;
}

static size_t count_of(const struct attention_problem *problem, int gradient)
{
    return (size_t)rows_of(problem, gradient) * (size_t)columns_of(problem, gradient);
}

static size_t outputs_of(const struct attention_problem *problem)
{
    return (size_t)problem->query_rows * (size_t)columns_of(problem, VALUE);
}

/* (heads, 2 * reach + 1). */
static int relative_width(const struct attention_problem *problem)
{
    return problem->shape.relative ? 2 * problem->shape.relative + 1 : 0;
}

static size_t relatives_of(const struct attention_problem *problem)
{
    return (size_t)(problem->shape.heads * relative_width(problem));
}

/* Runs forward and backward for all sequences or for one. If shapes allow, the gradients are columns of one
 * matrix, as in a fused projection; the gradient of the relative term accumulates onto ones. */
static struct results run(struct clf_device *device, const struct attention_problem *problem, const float *dy,
                          int only)
{
    const struct attention_shape *shape = &problem->shape;
    const float *values[GRADIENTS] = {problem->q, problem->k, problem->v};
    int views = shape->column_views, value_columns = columns_of(problem, VALUE);
    int is_fused = problem->query_rows == problem->key_rows;
    struct clf__tensor wide = support_tensor(device, CLF__F32, problem->query_rows,
                                             2 * columns_of(problem, KEY) + value_columns, NULL);
    struct clf__tensor operands[GRADIENTS], gradients[GRADIENTS];
    for (int g = 0; g < GRADIENTS; g++) {
        int rows = rows_of(problem, g), columns = columns_of(problem, g);
        operands[g] = support_attention_operand(device, views, rows, columns, values[g]);
        gradients[g] = is_fused ? clf__tensor_columns(wide, g * columns_of(problem, KEY), columns)
                                : support_attention_operand(device, views, rows, columns, NULL);
    }
    struct clf__tensor doutput =
        support_attention_operand(device, views, problem->query_rows, value_columns, dy);
    struct clf__tensor y = support_attention_operand(device, views, problem->query_rows, value_columns, NULL);
    struct clf__attention_call call = support_attention_call(device, problem);
    if (only >= 0) {
        call.ranges.table = clf__tensor_rows(call.ranges.table, only, 1);
        call.ranges.sequences = 1;
    }
    assert_ok(clf__attention_forward(y, operands[QUERY], operands[KEY], operands[VALUE], &call));
    size_t scratch = clf__attention_backward_scratch(&call.heads, problem->query_rows, call.ranges.sequences,
                                                     relative_width(problem));
    struct clf__attention_gradients asked = {
        .query = gradients[QUERY],
        .key = gradients[KEY],
        .value = gradients[VALUE],
        .scratch = support_tensor(device, CLF__F32, 1, (int)scratch, NULL),
    };
    if (shape->relative) {
        float *ones = support_array(relatives_of(problem), sizeof *ones);
        for (size_t n = 0; n < relatives_of(problem); n++) {
            ones[n] = 1.0f;
        }
        asked.relative = support_tensor(device, CLF__F32, shape->heads, relative_width(problem), ones);
    }
    assert_ok(
        clf__attention_backward(&asked, doutput, operands[QUERY], operands[KEY], operands[VALUE], y, &call));
    struct results results = {.y = support_read(y)};
    for (int g = 0; g < GRADIENTS; g++) {
        results.gradients[g] = support_read(gradients[g]);
    }
    if (shape->relative) {
        results.relative = support_read(asked.relative);
    }
    return results;
}

static float *make_dy(const struct attention_problem *problem)
{
    struct support_random random = {77};
    return support_uniform_array(&random, outputs_of(problem), 1.0f);
}

/* Both implementations against the reference. */
static void check(const struct attention_shape *shape)
{
    static uint64_t seed = 1;
    struct attention_problem problem = support_attention_problem(shape, ++seed);
    float *dy = make_dy(&problem);
    double *y = support_array(outputs_of(&problem), sizeof *y), *expected[GRADIENTS];
    double *relative = support_array(relatives_of(&problem), sizeof *relative);
    for (int g = 0; g < GRADIENTS; g++) {
        expected[g] = support_array(count_of(&problem, g), sizeof *expected[g]);
    }
    reference_attention_forward(y, NULL, problem.q, problem.k, problem.v, &problem.reference);
    reference_attention_backward(expected[QUERY], expected[KEY], expected[VALUE],
                                 shape->relative ? relative : NULL, dy, problem.q, problem.k, problem.v,
                                 &problem.reference);
    for (size_t n = 0; n < relatives_of(&problem); n++) {
        relative[n] += 1.0;
    }
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct results results = run(fused(variant), &problem, dy, -1);
        assert_close(results.y, y, outputs_of(&problem), 2e-6);
        for (int g = 0; g < GRADIENTS; g++) {
            assert_close(results.gradients[g], expected[g], count_of(&problem, g), 2e-5);
        }
        if (shape->relative) {
            assert_close(results.relative, relative, relatives_of(&problem), 2e-5);
        }
    }
    support_free_all();
}

/* With and without dropout. */
static void check_both(struct attention_shape shape)
{
    shape.dropout = 0.0f;
    check(&shape);
    shape.dropout = 0.3f;
    check(&shape);
}

static void test_lengths(void **state)
{
    (void)state;
    const int lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 127, 128, 129, 260};
    int count = support_small() ? 8 : (int)(sizeof lengths / sizeof *lengths);
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 24, .sequences = 2};
        shape.queries[0] = lengths[i];
        shape.keys[0] = lengths[count - 1 - i];
        shape.queries[1] = lengths[(i + 5) % count];
        shape.keys[1] = lengths[i];
        check_both(shape);
        shape.causal = 1;
        check_both(shape);
    }
}

static void test_widths(void **state)
{
    (void)state;
    int first = support_small() ? 1 : 0, step = support_small() ? attention_edge_width_count : 2;
    for (int i = first; i < attention_edge_width_count; i += step) {
        struct attention_shape shape = {.heads = 3,
                                        .key_width = attention_edge_widths[i],
                                        .value_width =
                                            attention_edge_widths[attention_edge_width_count - 1 - i],
                                        .sequences = 2,
                                        .queries = {18, 3},
                                        .keys = {18, 35},
                                        .column_views = 1,
                                        .dropout = i < 2 ? 0.3f : 0.0f};
        check(&shape);
    }
}

/* Hidden keys, causality and additive terms, single and combined, over one tile of keys and over several. */
static void test_masks(void **state)
{
    (void)state;
    for (int masks = 1; masks < 16; masks = support_next_masks(masks)) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = 16,
                                        .value_width = 24,
                                        .sequences = 3,
                                        .queries = {5, 34, 17},
                                        .keys = {9, 34, support_small() ? 20 : 140},
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 6 : 0,
                                        .column_views = masks & 1};
        check_both(shape);
    }
}

/* Self-attention: the three gradients are in one matrix. */
static void test_fused_projection(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 3,
                                    .queries = {7, 33, 16},
                                    .keys = {7, 33, 16},
                                    .causal = 1};
    check_both(shape);
}

/* Sequences without queries, without keys, and causal ones whose first queries precede every key. */
static void test_empty(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 5,
                                    .queries = {3, 0, 20, 0, 40},
                                    .keys = {0, 7, 5, 0, 3}};
    check_both(shape);
    shape.causal = 1;
    check_both(shape);
    struct attention_shape none = {.heads = 2, .key_width = 16, .value_width = 24, .sequences = 0};
    check_both(none);
}

/* Fully masked queries give zero gradients. */
static void test_all_hidden(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 1,
                                    .queries = {40},
                                    .keys = {support_small() ? 40 : 200},
                                    .hidden = 1};
    struct attention_problem problem = support_attention_problem(&shape, 7);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct results results = run(fused(variant), &problem, make_dy(&problem), -1);
        for (int g = 0; g < GRADIENTS; g++) {
            for (size_t n = 0; n < count_of(&problem, g); n++) {
                assert_true(results.gradients[g][n] == 0.0f);
            }
        }
    }
}

static void test_long_sequence(void **state)
{
    (void)state;
    if (support_small()) {
        skip();
    }
    struct attention_shape shape = {.heads = 1,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 1,
                                    .queries = {1024},
                                    .keys = {1024},
                                    .causal = 1};
    check_both(shape);
}

/* Sum of dy * y, in double, from the op's forward pass. */
static double measure(struct clf_device *device, const struct attention_problem *problem, const float *dy)
{
    struct clf__attention_call call = support_attention_call(device, problem);
    const float *y = support_attention_run(device, problem, &call);
    double sum = 0.0;
    for (size_t n = 0; n < outputs_of(problem); n++) {
        sum += (double)dy[n] * (double)y[n];
    }
    return sum;
}

/* Finite differences of the forward pass along a random direction of each operand, with a fixed dropout
   mask. */
static void test_finite_differences(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 2,
                                    .queries = {9, 20},
                                    .keys = {14, 20},
                                    .causal = 1,
                                    .relative = 3,
                                    .dropout = 0.2f};
    const float step = 1.0f / 128;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = fused(variant);
        struct attention_problem problem = support_attention_problem(&shape, 11);
        float *dy = make_dy(&problem);
        struct results results = run(device, &problem, dy, -1);
        const float **operands[] = {&problem.q, &problem.k, &problem.v, &problem.reference.relative};
        for (int g = 0; g <= GRADIENTS; g++) {
            size_t count = g < GRADIENTS ? count_of(&problem, g) : relatives_of(&problem);
            struct support_random random = {(uint64_t)(100 + g)};
            const float *values = *operands[g], *direction = support_uniform_array(&random, count, 1.0f);
            double sums[2], expected = 0.0;
            for (int side = 0; side < 2; side++) {
                float *moved = support_array(count, sizeof *moved);
                for (size_t n = 0; n < count; n++) {
                    moved[n] = values[n] + (side ? step : -step) * direction[n];
                }
                *operands[g] = moved;
                sums[side] = measure(device, &problem, dy);
            }
            *operands[g] = values;
            for (size_t n = 0; n < count; n++) {
                double gradient = g < GRADIENTS ? results.gradients[g][n] : results.relative[n] - 1.0;
                expected += gradient * (double)direction[n];
            }
            double found = (sums[1] - sums[0]) / (2.0 * (double)step);
            assert_true(fabs(found - expected) <= 2e-3 * fabs(expected) + 2e-3);
        }
        support_free_all();
    }
}

/* Equal bits for repeated calls, and for each sequence by itself with its query rows and thus its dropout
   mask. */
static void test_bits(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 4,
                                    .queries = {33, 4, 17, 20},
                                    .keys = {33, support_small() ? 40 : 150, 17, 70},
                                    .hidden = 1,
                                    .relative = 5,
                                    .dropout = 0.25f};
    for (shape.causal = 0; shape.causal < 2; shape.causal++) {
        struct attention_problem problem = support_attention_problem(&shape, 9);
        float *dy = make_dy(&problem);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_device *device = fused(variant);
            struct results first = run(device, &problem, dy, -1), second = run(device, &problem, dy, -1);
            assert_memory_equal(first.relative, second.relative, relatives_of(&problem) * sizeof(float));
            for (int b = -1; b < shape.sequences; b++) {
                struct results other = b < 0 ? second : run(device, &problem, dy, b);
                const int32_t *range = problem.reference.ranges + 4 * (b < 0 ? 0 : b);
                for (int g = 0; g < GRADIENTS; g++) {
                    size_t columns = (size_t)columns_of(&problem, g);
                    size_t rows =
                        b < 0 ? (size_t)rows_of(&problem, g) : (size_t)(g == QUERY ? range[1] : range[3]);
                    size_t from = (size_t)(g == QUERY ? range[0] : range[2]) * columns;
                    assert_memory_equal(first.gradients[g] + from, other.gradients[g] + from,
                                        rows * columns * sizeof(float));
                }
            }
        }
        support_free_all();
    }
}

/* With equal weights and values of one, y is the fraction of kept weights times 1 / (1 - rate); another step
 * drops others. */
static void test_dropout_statistics(void **state)
{
    (void)state;
    enum { HEADS = 4, QUERIES = 60, KEYS = 100, WIDTH = 24, OUTPUTS = HEADS * QUERIES };
    struct attention_shape shape = {.heads = HEADS,
                                    .key_width = 16,
                                    .value_width = WIDTH,
                                    .sequences = 1,
                                    .queries = {QUERIES},
                                    .keys = {KEYS},
                                    .dropout = 0.3f};
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device = fused(variant);
        struct attention_problem problem = support_attention_problem(&shape, 12);
        problem.q = support_array(QUERIES * HEADS * 16, sizeof(float));
        float *ones = support_array(KEYS * HEADS * WIDTH, sizeof *ones);
        for (int n = 0; n < KEYS * HEADS * WIDTH; n++) {
            ones[n] = 1.0f;
        }
        problem.v = ones;
        struct clf__attention_call call = support_attention_call(device, &problem);
        const float *y = support_attention_run(device, &problem, &call);
        call.dropout.step++;
        const float *later = support_attention_run(device, &problem, &call);
        double mean = 0.0, variance = 0.0, product = 0.0;
        for (int n = 0; n < OUTPUTS * WIDTH; n += WIDTH) { /* a head's columns are equal */
            mean += y[n] / OUTPUTS;
            variance += (y[n] - 1.0) * (y[n] - 1.0) / OUTPUTS;
            product += (y[n] - 1.0) * (later[n] - 1.0) / OUTPUTS;
        }
        double expected = 0.3 / 0.7 / KEYS; /* the variance of a mean of KEYS */
        assert_true(fabs(mean - 1.0) < 5.0 * sqrt(expected / OUTPUTS));
        assert_true(fabs(variance / expected - 1.0) < 5.0 * sqrt(2.0 / OUTPUTS));
        assert_true(fabs(product / expected) < 5.0 / sqrt(OUTPUTS));
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_masks, support_teardown),
        cmocka_unit_test_teardown(test_fused_projection, support_teardown),
        cmocka_unit_test_teardown(test_empty, support_teardown),
        cmocka_unit_test_teardown(test_all_hidden, support_teardown),
        cmocka_unit_test_teardown(test_long_sequence, support_teardown),
        cmocka_unit_test_teardown(test_finite_differences, support_teardown),
        cmocka_unit_test_teardown(test_bits, support_teardown),
        cmocka_unit_test_teardown(test_dropout_statistics, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
