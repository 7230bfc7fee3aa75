/* The log-probabilities of projected rows' labels, against the logits of the same weight's GEMM, summed in
 * double. */
#include "ops/projection_problem.h"

#include "reference/softmax.h"
#include "support/views.h"

static float *pick(struct clf_device *device, const struct problem *problem,
                   const struct clf__projection *projection, const int32_t *labels)
{
    struct support_view picked = support_view(device, 1, problem->rows, NULL);
    struct clf__arena arena;
    struct clf__projection_scratch scratch = make_scratch(&arena, device, projection, problem->rows, 0, 0);
    struct support_view x = support_view(device, problem->rows, problem->inputs, problem->x);
    assert_ok(clf__projection_pick(picked.tensor, x.tensor, projection,
                                   support_tensor(device, CLF__I32, 1, problem->rows, labels), &scratch));
    clf__arena_free(&arena);
    support_view_check(&picked);
    return support_read(picked.tensor);
}

static void check_pick(struct clf_device *device, const struct problem *problem,
                       enum clf__precision precision, const int32_t *labels)
{
    int rows = problem->rows, v = problem->vocabulary;
    struct clf__projection projection = make_projection(device, problem, precision);
    float *picked = pick(device, problem, &projection, labels);
    double *expected = support_array((size_t)rows * (size_t)v, sizeof *expected);
    const float *logits = product_of(device, problem, &projection);
    reference_log_softmax(expected, logits, rows, v);
    for (int r = 0; r < rows; r++) {
        int known = labels[r] >= 0 && labels[r] < v;
        size_t at = (size_t)r * (size_t)v + (size_t)(known ? labels[r] : 0);
        double answer = !known ? -INFINITY : isnan(logits[at]) ? NAN : expected[at];
        if (!same(answer, picked[r], 2e-6)) {
            fail_msg("row %d: label %d of %d has %.9g, not %.9g", r, labels[r], v, (double)picked[r], answer);
        }
    }
    clf__weight_free((struct clf__weight *)projection.weight);
}

static void test_labels(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < VOCABULARIES; i += support_small() ? 4 : 1) {
            struct support_random random = {(uint64_t)i};
            int rows = i % 2 ? 5 : 70, v = vocabularies[i];
            struct problem problem = random_problem(&random, rows, v, 6, 1);
            problem.has_bias = i % 3 != 0;
            int32_t *labels = support_array((size_t)rows, sizeof *labels);
            for (int r = 0; r < rows; r++) {
                labels[r] = support_integer(&random, v);
            }
            labels[0] = v - 1;
            labels[1] = v;
            labels[2] = -1;
            labels[3] = INT32_MIN;
            labels[4] = INT32_MAX;
            check_pick(device, &problem, precision, labels);
            support_free_all();
        }
    }
}

/* NaN in a model's numbers appears in the score; a row of -inf is -inf. (Large numbers give too large
 * results.) */
static void test_labels_of_special_values(void **state)
{
    (void)state;
    static const int32_t labels[] = {97, 97, 96};
    FOR_EACH_CASE(device, precision)
    {
        for (int kind = 0; kind < SPECIAL_KINDS - 1; kind++) {
            struct problem problem = special_problem(kind);
            check_pick(device, &problem, precision, labels);
            support_free_all();
        }
    }
}

static void test_labels_are_independent(void **state)
{
    (void)state;
    int rows = support_small() ? 66 : MOST_ROWS, v = support_small() ? 1100 : 9000;
    FOR_EACH_NATIVE_CASE(device, precision)
    {
        struct support_random random = {9};
        struct problem all = random_problem(&random, rows, v, 5, 1);
        struct clf__projection projection = make_projection(device, &all, precision);
        int32_t *labels = support_array((size_t)rows, sizeof *labels);
        for (int r = 0; r < rows; r++) {
            labels[r] = support_integer(&random, v);
        }
        const float *among = pick(device, &all, &projection, labels);
        for (int r = 0; r < rows; r += rows / 7) {
            struct problem one = all;
            one.rows = 1;
            one.x = all.x + (size_t)r * (size_t)all.inputs;
            assert_memory_equal(pick(device, &one, &projection, labels + r), among + r, sizeof *among);
        }
        clf__weight_free((struct clf__weight *)projection.weight);
        support_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_labels, support_teardown),
        cmocka_unit_test_teardown(test_labels_of_special_values, support_teardown),
        cmocka_unit_test_teardown(test_labels_are_independent, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
