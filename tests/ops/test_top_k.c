/* The best candidates of a row and its statistics, against sorting in double. */
#include "math/ops/top_k.h"

#include <math.h>
#include <string.h>

#include "cases/rows.h"
#include "reference/top_k.h"
#include "runtime/device/device.h"
#include "support/support.h"
#include "support/views.h"

enum { MOST_ROWS = 8, MOST_BANNED = 16 };

/* banned of row r: banned[offsets[r]] .. banned[offsets[r + 1] - 1] */
struct problem {
    int rows, vocabulary, k, both;
    const float *logits;
    int32_t banned[MOST_BANNED];
    int32_t offsets[MOST_ROWS + 1];
};

static int same(double expected, float actual)
{
    return expected == (double)actual || (isnan(expected) && isnan(actual)) ||
           fabs((double)actual - expected) <= 1e-6 * (1 + fabs(expected));
}

static void check_variant(struct clf_device *device, const struct problem *problem)
{
    int rows = problem->rows, v = problem->vocabulary, k = problem->k;
    struct support_view logits = support_view(device, rows, v, problem->logits);
    struct support_view values = support_view(device, rows, k, NULL);
    struct support_view ids = support_view(device, rows, k, NULL); /* the bits of NaN are not a valid id */
    struct support_view statistics = support_view(device, rows, 4, NULL);
    struct clf__tensor id_view = ids.tensor;
    id_view.type = CLF__I32;
    assert_ok(clf__top_k_forward(values.tensor, id_view, statistics.tensor, logits.tensor,
                                 support_tensor(device, CLF__I32, 1, MOST_BANNED, problem->banned),
                                 support_tensor(device, CLF__I32, 1, rows + 1, problem->offsets),
                                 problem->both));
    const float *actual_values = support_read(values.tensor);
    const int32_t *actual_ids = support_read_integers(id_view);
    const float *actual_statistics = support_read(statistics.tensor);
    const float *left = support_read(logits.tensor);
    for (int r = 0; r < rows; r++) {
        float *row = support_array((size_t)v, sizeof *row), expected_values[CLF__TOP_K_LIMIT];
        int32_t expected_ids[CLF__TOP_K_LIMIT];
        double expected_statistics[4];
        memcpy(row, problem->logits + (size_t)r * (size_t)v, (size_t)v * sizeof *row);
        int first = problem->offsets[r];
        reference_top_k(expected_values, expected_ids, k, expected_statistics, row, v,
                        problem->banned + first, problem->offsets[r + 1] - first, problem->both);
        assert_memory_equal(actual_ids + r * k, expected_ids, sizeof(int32_t) * (size_t)k);
        for (int i = 0; i < k; i++) {
            assert_true(actual_values[r * k + i] == expected_values[i]);
        }
        for (int i = 0; i < 4; i++) {
            if (!same(expected_statistics[i], actual_statistics[r * 4 + i])) {
                fail_msg("row %d of %d columns: statistic %d is %.9g, not %.9g", r, v, i,
                         (double)actual_statistics[r * 4 + i], expected_statistics[i]);
            }
        }
        assert_memory_equal(left + (size_t)r * (size_t)v, row, sizeof(float) * (size_t)v);
    }
    support_view_check(&logits);
    support_view_check(&values);
    support_view_check(&ids);
    support_view_check(&statistics);
}

static void check(const struct problem *problem)
{
    FOR_EACH_VARIANT(device)
    {
        check_variant(device, problem);
    }
}

/* Wide rows are left to test_large_vocabulary(). */
static int edge_count(void)
{
    int count = 0;
    while (count < top_k_edge_column_count && !(support_small() && top_k_edge_columns[count] > 1025)) {
        count++;
    }
    return count;
}

static void test_sizes(void **state)
{
    (void)state;
    static const int ks[] = {1, 2, 8, 65};
    for (int i = 0; i < edge_count(); i += support_small() ? 2 : 1) {
        for (int j = 0; j < 4; j += support_small() ? 3 : 1) {
            struct support_random random = {(uint64_t)i};
            int v = top_k_edge_columns[i];
            struct problem problem = {.rows = 3, .vocabulary = v, .k = ks[j]};
            problem.logits = support_uniform_array(&random, 3 * (size_t)v, 12.0f);
            check(&problem);
        }
        support_free_all();
    }
}

/* Few distinct values: most comparisons are decided by the order of ids, across vectors, blocks and
   slices. */
static void test_ties(void **state)
{
    (void)state;
    for (int i = 0; i < edge_count(); i += support_small() ? 2 : 1) {
        struct support_random random = {(uint64_t)i};
        int v = top_k_edge_columns[i];
        float *logits = support_array(2 * (size_t)v, sizeof *logits);
        for (int c = 0; c < v; c++) {
            logits[c] = (float)support_integer(&random, 3);
            logits[v + c] = c % 3 ? -0.0f : 0.0f;
        }
        struct problem problem = {.rows = 2, .vocabulary = v, .k = 20, .logits = logits};
        check(&problem);
    }
}

/* Ascending rows put every value into the list; k at its limit. */
static void test_order(void **state)
{
    (void)state;
    enum { V = 700 };
    float logits[2 * V];
    for (int c = 0; c < V; c++) {
        logits[c] = (float)c * 0.01f;
        logits[V + c] = (float)-c * 0.01f;
    }
    struct problem problem = {.rows = 2, .vocabulary = V, .k = CLF__TOP_K_LIMIT, .logits = logits};
    check(&problem);
}

static void test_large_vocabulary(void **state)
{
    (void)state;
    int v = support_small() ? 8200 : 250001;
    struct support_random random = {5};
    struct problem problem = {.rows = 2, .vocabulary = v, .k = 12};
    problem.logits = support_uniform_array(&random, 2 * (size_t)v, 10.0f);
    check(&problem);
}

/* A whole row of -inf, of NaN, one number among them, a NaN among numbers, large numbers, an ordinary row,
 * one with +inf, one with -inf, one with a single NaN at its end. */
static void test_special_values(void **state)
{
    (void)state;
    enum { V = 130 };
    enum { ROWS = 9 };
    float *logits = support_array(ROWS * V, sizeof *logits);
    for (int c = 0; c < V; c++) {
        logits[c] = -INFINITY;
        logits[V + c] = NAN;
        logits[2 * V + c] = c == 97 ? -3.0f : c % 2 ? NAN : -INFINITY;
        logits[3 * V + c] = c % 7 == 0 ? NAN : (float)(c % 13);
        logits[4 * V + c] = c % 5 ? -3e38f : 3e38f;
        logits[5 * V + c] = (float)(c * 37 % 130) * 0.1f;
        logits[6 * V + c] = c == 40 ? INFINITY : logits[5 * V + c];
        logits[7 * V + c] = c % 3 ? -INFINITY : logits[5 * V + c];
        logits[8 * V + c] = c == V - 1 ? NAN : logits[5 * V + c];
    }
    for (int both = 0; both < 2; both++) {
        struct problem problem = {.rows = ROWS, .vocabulary = V, .k = 9, .both = both, .logits = logits};
        check(&problem);
    }
}

/* Rows without a ban, with the best one banned, with the same id twice, ids out of range, and everything but
 * one banned. */
static void test_bans(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    static const int sizes[] = {5, 70, 1000};
    static const int32_t banned[MOST_BANNED] = {2, 3, 3, 3, -1, 5000, INT32_MAX, INT32_MIN, 0, 1, 2, 4};
    static const int32_t offsets[ROWS + 1] = {0, 0, 1, 4, 8, 12};
    for (int i = 0; i < 3; i++) {
        for (int both = 0; both < 2; both++) {
            struct support_random random = {(uint64_t)i};
            int v = sizes[i];
            float *logits = support_uniform_array(&random, ROWS * (size_t)v, 4.0f);
            logits[v + 2] = 9.0f;
            logits[2 * v + 3] = 9.0f;
            struct problem problem = {.rows = ROWS, .vocabulary = v, .k = 4, .both = both, .logits = logits};
            memcpy(problem.banned, banned, sizeof banned);
            memcpy(problem.offsets, offsets, sizeof offsets);
            check(&problem);
        }
    }
}

/* A row has equal bits by itself and at any position among others. */
static void check_rows_are_independent(int rows, int vocabulary)
{
    enum { K = 3 };
    int v = vocabulary;
    struct support_random random = {7};
    float *x = support_uniform_array(&random, (size_t)rows * (size_t)v, 5.0f);
    int32_t *offsets = support_array((size_t)rows + 1, sizeof *offsets); /* nothing is banned */
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor logits = support_tensor(device, CLF__F32, rows, v, x);
        struct clf__tensor values = support_tensor(device, CLF__F32, rows, K, NULL);
        struct clf__tensor ids = support_tensor(device, CLF__I32, rows, K, NULL);
        struct clf__tensor statistics = support_tensor(device, CLF__F32, rows, 4, NULL);
        struct clf__tensor banned = support_tensor(device, CLF__I32, 1, 1, NULL);
        struct clf__tensor spans = support_tensor(device, CLF__I32, 1, rows + 1, offsets);
        assert_ok(clf__top_k_forward(values, ids, statistics, logits, banned, spans, 0));
        float *all = support_read(statistics);
        int32_t *all_ids = support_read_integers(ids);
        for (int n = 0; n < rows; n += (rows + 6) / 7) {
            struct clf__tensor one = support_tensor(device, CLF__F32, 1, 4, NULL);
            assert_ok(clf__top_k_forward(clf__tensor_rows(values, n, 1), clf__tensor_rows(ids, n, 1), one,
                                         clf__tensor_rows(logits, n, 1), banned,
                                         clf__tensor_columns(spans, n, 2), 0));
            assert_memory_equal(support_read(one), all + n * 4, 4 * sizeof(float));
        }
        for (int i = 0; i < rows * K; i++) {
            assert_in_range(all_ids[i], 0, v - 1);
        }
    }
}

/* Also if groups process more than one row each. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    check_rows_are_independent(support_small() ? 70 : 2500, 37);
    check_rows_are_independent(5, support_small() ? 1025 : 8195);
}

/* A range gives the results of a row with its columns; it ends with the row, and may be empty or hold only
 * -inf and NaN. Ranges are independent of other ranges and rows. */
static void check_ranges(struct clf_device *device, int vocabulary, int k)
{
    enum { ROWS = 3, EACH = 5, K = 20 };
    int v = vocabulary, third = v / 3, columns = EACH * k;
    int32_t ranges[ROWS * EACH * 2] = {0,     v,     third, v,  third, third,     v - 1, v + 9,     -3, 1, 0,
                                       third, third, 2 * v, v,  v + 1, INT32_MIN, 0,     INT32_MAX, 1,  0, 1,
                                       2,     1,     5,     64, 0,     v - 1,     1,     INT32_MAX};
    struct support_random random = {(uint64_t)v};
    float *x = support_uniform_array(&random, ROWS * (size_t)v, 6.0f);
    x[2 * v] = x[2 * v + (v > 5 ? 5 : 0)] = NAN;
    x[v - 1] = -INFINITY;
    struct support_view logits = support_view(device, ROWS, v, x);
    struct support_view values = support_view(device, ROWS, columns, NULL);
    struct support_view ids = support_view(device, ROWS, columns, NULL);
    struct support_view statistics = support_view(device, ROWS, 2 * EACH, NULL);
    struct clf__tensor id_view = ids.tensor;
    id_view.type = CLF__I32;
    assert_ok(clf__top_k_ranges(values.tensor, id_view, statistics.tensor, logits.tensor,
                                support_tensor(device, CLF__I32, ROWS, 2 * EACH, ranges)));
    const float *actual_values = support_read(values.tensor), *actual = support_read(statistics.tensor);
    const int32_t *actual_ids = support_read_integers(id_view);
    for (int n = 0; n < ROWS * EACH; n++) {
        int first = ranges[2 * n] < 0 ? 0 : ranges[2 * n] > v ? v : ranges[2 * n];
        int end = ranges[2 * n + 1] > v ? v : ranges[2 * n + 1] < first ? first : ranges[2 * n + 1];
        float expected_values[K], *row = support_array((size_t)v, sizeof *row);
        int32_t expected_ids[K];
        double expected[4];
        memcpy(row, x + (size_t)(n / EACH) * (size_t)v + first, (size_t)(end - first) * sizeof *row);
        reference_top_k(expected_values, expected_ids, k, expected, row, end - first, NULL, 0, 0);
        for (int i = 0; i < k; i++) {
            int id = expected_ids[i] < 0 ? -1 : expected_ids[i] + first;
            assert_int_equal(actual_ids[n * k + i], id);
            assert_true(actual_values[n * k + i] == expected_values[i]);
        }
        assert_true(same(expected[2], actual[2 * n]) && same(expected[3], actual[2 * n + 1]));
    }
    assert_memory_equal(support_read(logits.tensor), x, ROWS * (size_t)v * sizeof *x);
    support_view_check(&values);
    support_view_check(&ids);
    support_view_check(&statistics);
}

static void test_ranges(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < edge_count(); i++) {
            check_ranges(device, top_k_edge_columns[i], i % 2 ? 1 : 20);
        }
    }
}

/* On a GPU with few work-items per group. */
static void test_small_groups(void **state)
{
    (void)state;
    if (support_last_variant() != CLF_VARIANT_GPU) {
        skip();
    }
    struct clf_device *device = support_device(CLF_VARIANT_GPU);
    size_t before = device->caps.max_work_group;
    device->caps.max_work_group = CLF__GROUP;
    struct support_random random = {8};
    int v = 2065;
    struct problem problem = {
        .rows = 2, .vocabulary = v, .k = 5, .both = 1, .banned = {64, 2064, 64, 3}, .offsets = {0, 4, 4}};
    problem.logits = support_uniform_array(&random, 2 * (size_t)v, 9.0f);
    check_variant(device, &problem);
    check_ranges(device, v, 5);
    device->caps.max_work_group = before;
}

static void test_refuses_k(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_CPU);
    int k = CLF__TOP_K_LIMIT + 1;
    struct clf__tensor values = support_tensor(device, CLF__F32, 1, k, NULL);
    struct clf__tensor ids = support_tensor(device, CLF__I32, 1, k, NULL);
    struct clf__tensor statistics = support_tensor(device, CLF__F32, 1, 4, NULL);
    struct clf__tensor logits = support_tensor(device, CLF__F32, 1, k, NULL);
    struct clf__tensor offsets = support_tensor(device, CLF__I32, 1, 2, NULL);
    assert_fails(clf__top_k_forward(values, ids, statistics, logits, offsets, offsets, 0), CLF_UNSUPPORTED,
                 "257 candidates");
    assert_fails(clf__top_k_forward(clf__tensor_columns(values, 0, 0), clf__tensor_columns(ids, 0, 0),
                                    statistics, logits, offsets, offsets, 0),
                 CLF_UNSUPPORTED, "0 candidates");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sizes, support_teardown),
        cmocka_unit_test_teardown(test_ties, support_teardown),
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_large_vocabulary, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
        cmocka_unit_test_teardown(test_bans, support_teardown),
        cmocka_unit_test_teardown(test_ranges, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_small_groups, support_teardown),
        cmocka_unit_test_teardown(test_refuses_k, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
