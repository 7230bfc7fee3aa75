/* Windows of a convolution over time. */
#include "math/ops/unfold.h"

#include "support/views.h"

static const int channels[] = {1, 5, 16, 21, 64, 65};
enum { CHANNELS = sizeof channels / sizeof *channels, MOST_ROWS = 9 };

static void check(struct clf_device *device, int in_rows, int columns, int width, int step)
{
    struct support_random random = {(uint64_t)(columns * 100 + in_rows)};
    int out_rows = (in_rows + step - 1) / step, wide = columns * width;
    float *x = support_uniform_array(&random, (size_t)in_rows * (size_t)columns, 1.0f);
    size_t count = (size_t)out_rows * (size_t)wide;
    float *expected = support_array(count, sizeof *expected);
    for (int t = 0; t < out_rows; t++) {
        for (int j = 0; j < wide; j++) {
            int row = t * step + j % width - width / 2;
            int is_row = row >= 0 && row < in_rows;
            expected[t * wide + j] = is_row ? x[row * columns + j / width] : 0.0f;
        }
    }
    struct support_view in = support_view(device, in_rows, columns, x);
    struct support_view out = support_view(device, out_rows, wide, NULL);
    assert_ok(clf__unfold_forward(out.tensor, in.tensor, width, step));
    assert_memory_equal(support_read(out.tensor), expected, count * sizeof(float));
    support_view_check(&out);
}

/* The gradient is the sum over the uses of each row of x. */
static void check_backward(struct clf_device *device, int in_rows, int columns, int width, int step)
{
    struct support_random random = {(uint64_t)(columns * 100 + in_rows)};
    int out_rows = (in_rows + step - 1) / step, wide = columns * width;
    float *dy = support_uniform_array(&random, (size_t)out_rows * (size_t)wide, 1.0f);
    size_t count = (size_t)in_rows * (size_t)columns;
    float *expected = support_array(count, sizeof *expected);
    for (int m = 0; m < in_rows; m++) {
        for (int c = 0; c < columns; c++) {
            for (int k = 0; k < width; k++) {
                for (int t = 0; t < out_rows; t++) {
                    int is_seen = t * step + k - width / 2 == m;
                    expected[m * columns + c] += is_seen ? dy[t * wide + c * width + k] : 0.0f;
                }
            }
        }
    }
    struct support_view in = support_view(device, out_rows, wide, dy);
    struct support_view out = support_view(device, in_rows, columns, NULL);
    assert_ok(clf__unfold_backward(out.tensor, in.tensor, width, step));
    assert_memory_equal(support_read(out.tensor), expected, count * sizeof(float));
    support_view_check(&out);
}

static void test_unfold(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < CHANNELS; i++) {
            for (int rows = 1; rows <= MOST_ROWS; rows += i % 2 + 1) {
                check(device, rows, channels[i], 3, 1);
                check(device, rows, channels[i], 3, 2);
                check_backward(device, rows, channels[i], 3, 1);
                check_backward(device, rows, channels[i], 3, 2);
            }
            check(device, MOST_ROWS, channels[i], 1, 3);
            check(device, MOST_ROWS, channels[i], 5, 2);
            check_backward(device, MOST_ROWS, channels[i], 1, 3);
            check_backward(device, MOST_ROWS, channels[i], 5, 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_unfold, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
