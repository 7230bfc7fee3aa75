/* Sums of neighbouring rows against double. */
#include "math/ops/segments.h"

#include "cases/rows.h"
#include "support/views.h"

enum { ROWS = 9, SEGMENTS = 6 };
/* One row, several rows, none, overlapping segments, and segments that end beyond the matrix. */
static const int32_t segments[SEGMENTS * 2] = {0, 1, 1, 4, 4, 4, 2, 9, 7, ROWS + 5, -3, 2};

static void check(struct clf_device *device, int columns)
{
    struct support_random random = {(uint64_t)columns};
    size_t width = (size_t)columns;
    float *x = support_uniform_array(&random, ROWS * width, 4.0f);
    double *expected = support_array(SEGMENTS * width, sizeof *expected);
    for (size_t s = 0; s < SEGMENTS; s++) {
        for (int n = 0; n < ROWS; n++) {
            for (size_t k = 0; n >= segments[2 * s] && n < segments[2 * s + 1] && k < width; k++) {
                expected[s * width + k] += (double)x[(size_t)n * width + k];
            }
        }
    }
    struct support_view in = support_view(device, ROWS, columns, x);
    struct support_view y = support_view(device, SEGMENTS, columns, NULL);
    assert_ok(
        clf__segment_sums(y.tensor, in.tensor, support_tensor(device, CLF__I32, SEGMENTS, 2, segments)));
    assert_close(support_read(y.tensor), expected, SEGMENTS * width, 1e-6);
    support_view_check(&y);
}

static void test_sums(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check(device, row_edge_columns[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_sums, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
