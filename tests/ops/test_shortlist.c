/* Logits of shortlisted words against double. */
#include "math/ops/shortlist.h"

#include <math.h>

#include "cases/rows.h"
#include "support/views.h"

enum { ROWS = 4, WORDS = 90, LISTED = 80 };

/* Word j of a row: ids[starts[r] + j]. The second row has one word, the third none, the last all of them. */
static const int32_t starts[ROWS] = {3, 79, 0, 0}, counts[ROWS] = {70, 1, 0, 80};

static int32_t word_at(const int32_t *ids, int r, int j)
{
    return j < counts[r] ? ids[starts[r] + j] : -1;
}

static void check(struct clf_device *device, int columns, int width, int has_bias)
{
    struct support_random random = {(uint64_t)width};
    size_t inputs = (size_t)width, count = ROWS * (size_t)columns;
    float *x = support_uniform_array(&random, ROWS * inputs, 1.0f);
    float *weight = support_uniform_array(&random, WORDS * inputs, 1.0f);
    float *bias = support_uniform_array(&random, WORDS, 1.0f);
    int32_t ids[LISTED];
    for (int i = 0; i < LISTED; i++) {
        ids[i] = i + i / 9;
    }
    struct support_view in = support_view(device, ROWS, width, x);
    struct support_view rows = support_view(device, WORDS, width, weight);
    struct support_view logits = support_view(device, ROWS, columns, NULL);
    struct clf__tensor added = support_tensor(device, CLF__F32, 1, WORDS, bias);
    assert_ok(clf__shortlist_logits(logits.tensor, in.tensor, rows.tensor, has_bias ? added.buffer : NULL,
                                    0.5f, support_tensor(device, CLF__I32, 1, LISTED, ids),
                                    support_tensor(device, CLF__I32, 1, ROWS, starts),
                                    support_tensor(device, CLF__I32, 1, ROWS, counts)));
    const float *actual = support_read(logits.tensor);
    double *expected = support_array(count, sizeof *expected);
    float *found = support_array(count, sizeof *found);
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < columns; j++) {
            size_t at = (size_t)r * (size_t)columns + (size_t)j;
            int32_t word = word_at(ids, r, j);
            if (word < 0) {
                assert_true(isinf(actual[at]) && actual[at] < 0);
                continue;
            }
            found[at] = actual[at];
            expected[at] = has_bias ? (double)bias[word] : 0.0;
            for (size_t k = 0; k < inputs; k++) {
                expected[at] +=
                    0.5 * (double)x[(size_t)r * inputs + k] * (double)weight[(size_t)word * inputs + k];
            }
        }
    }
    assert_close(found, expected, count, 1e-6);
    support_view_check(&logits);
}

static void test_widths(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < row_edge_column_count; i++) {
            check(device, 80, row_edge_columns[i], i % 2);
        }
        check(device, 63, 24, 1);
        check(device, 129, 24, 1);
    }
}

/* Words and positions out of range give -inf. */
static void test_out_of_range(void **state)
{
    (void)state;
    static const int32_t ids[3] = {WORDS, -1, 0}, first[2] = {0, 2}, many[2] = {3, 3};
    struct support_random random = {1};
    float *weight = support_uniform_array(&random, WORDS * 8, 1.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor logits = support_tensor(device, CLF__F32, 2, 3, NULL);
        assert_ok(clf__shortlist_logits(logits, support_tensor(device, CLF__F32, 2, 8, weight),
                                        support_tensor(device, CLF__F32, WORDS, 8, weight), NULL, 1.0f,
                                        support_tensor(device, CLF__I32, 1, 3, ids),
                                        support_tensor(device, CLF__I32, 1, 2, first),
                                        support_tensor(device, CLF__I32, 1, 2, many)));
        const float *values = support_read(logits);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(isinf(values[i]) != 0, i != 2 && i != 3);
        }
    }
}

static void test_words(void **state)
{
    (void)state;
    static const int32_t ids[5] = {3, 8, 9, 12, 70}, first[3] = {0, 2, 4}, many[3] = {2, 3, 3},
                         positions[12] = {0, 1, 2, -1, 2, 0, 1, 3, 0, 1, 2, INT32_MAX},
                         words[12] = {3, 8, -1, -1, 70, 9, 12, -1, 70, -1, -1, -1};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor in = support_tensor(device, CLF__I32, 3, 4, positions);
        assert_ok(clf__shortlist_words(in, support_tensor(device, CLF__I32, 1, 5, ids),
                                       support_tensor(device, CLF__I32, 1, 3, first),
                                       support_tensor(device, CLF__I32, 1, 3, many)));
        assert_memory_equal(support_read_integers(in), words, sizeof words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_out_of_range, support_teardown),
        cmocka_unit_test_teardown(test_words, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
