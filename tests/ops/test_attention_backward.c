/* Attention's gradients, and dropout of its weights. */
#include <math.h>
#include <string.h>

#include "cases/attention.h"
#include "support/attention_problem.h"

enum gradient { QUERY, KEY, VALUE, GRADIENTS };

/* What a call gives, packed, on the host. */
struct results {
    float *y, *gradients[GRADIENTS];
};

static struct clf_device *fused(int form)
{
    return support_device_with((clf_form)form, CLF_GEMM_AUTO, CLF_ATTENTION_FUSED);
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

/* Forward and backward. The gradients are, where shapes allow it, columns of one fused matrix, as a fused
 * projection's are. */
static struct results run(struct clf_device *device, const struct attention_problem *problem, const float *dy)
{
    const struct attention_shape *shape = &problem->shape;
    const float *values[GRADIENTS] = {problem->q, problem->k, problem->v};
    int value_columns = shape->heads * shape->value_width;
    struct clf__tensor operands[GRADIENTS], gradients[GRADIENTS];
    int is_fused = problem->query_rows == problem->key_rows;
    int wide = 2 * columns_of(problem, KEY) + value_columns;
    struct clf__tensor fused_gradient = support_tensor(device, CLF__F32, problem->query_rows, wide, NULL);
    for (int g = 0; g < GRADIENTS; g++) {
        operands[g] = support_attention_operand(device, shape->column_views, rows_of(problem, g),
                                                columns_of(problem, g), values[g]);
        gradients[g] = is_fused ? clf__tensor_columns(fused_gradient, g * columns_of(problem, KEY),
                                                      columns_of(problem, g))
                                : support_attention_operand(device, shape->column_views, rows_of(problem, g),
                                                            columns_of(problem, g), NULL);
    }
    struct clf__tensor dy_tensor =
        support_attention_operand(device, shape->column_views, problem->query_rows, value_columns, dy);
    struct clf__tensor y =
        support_attention_operand(device, shape->column_views, problem->query_rows, value_columns, NULL);
    struct clf__attention_call call = support_attention_call(device, problem);
    assert_ok(clf__attention_forward(y, operands[QUERY], operands[KEY], operands[VALUE], &call));
    size_t scratch = clf__attention_backward_scratch(&call.heads, problem->query_rows, shape->sequences, 0);
    struct clf__attention_gradients asked = {
        .query = gradients[QUERY],
        .key = gradients[KEY],
        .value = gradients[VALUE],
        .scratch = support_tensor(device, CLF__F32, 1, (int)scratch, NULL),
    };
    assert_ok(clf__attention_backward(&asked, dy_tensor, operands[QUERY], operands[KEY], operands[VALUE], y,
                                      &call));
    struct results results = {.y = support_read(y)};
    for (int g = 0; g < GRADIENTS; g++) {
        results.gradients[g] = support_read(gradients[g]);
    }
    return results;
}

static float *make_dy(const struct attention_problem *problem)
{
    struct support_random random = {77};
    return support_uniform_array(
        &random, (size_t)problem->query_rows * (size_t)(problem->shape.heads * problem->shape.value_width),
        1.0f);
}

/* Both forms against the reference. */
static void check(const struct attention_shape *shape)
{
    static uint64_t seed = 1;
    struct attention_problem problem = support_attention_problem(shape, ++seed);
    float *dy = make_dy(&problem);
    size_t outputs = (size_t)problem.query_rows * (size_t)(shape->heads * shape->value_width);
    double *expected_y = support_array(outputs, sizeof *expected_y), *expected[GRADIENTS];
    for (int g = 0; g < GRADIENTS; g++) {
        expected[g] = support_array(count_of(&problem, g), sizeof *expected[g]);
    }
    reference_attention_forward(expected_y, NULL, problem.q, problem.k, problem.v, &problem.reference);
    reference_attention_backward(expected[QUERY], expected[KEY], expected[VALUE], NULL, dy, problem.q,
                                 problem.k, problem.v, &problem.reference);
    for (int form = support_first_form(); form <= support_last_form(); form++) {
        struct results results = run(fused(form), &problem, dy);
        assert_close(results.y, expected_y, outputs, 2e-6);
        for (int g = 0; g < GRADIENTS; g++) {
            assert_close(results.gradients[g], expected[g], count_of(&problem, g), 2e-5);
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
    int count = support_small() ? 9 : (int)(sizeof lengths / sizeof *lengths);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
