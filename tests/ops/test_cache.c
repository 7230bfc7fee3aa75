/* The decoder's cache: rows stored at their positions, following parents. */
#include <string.h>

#include "math/ops/cache.h"
#include "support/support.h"

static void check_place(enum clf__type type, int width)
{
    enum { PLACES = 9, ROWS = 4, MARGIN = 6 };
    const int32_t places[ROWS] = {3, 0, 8, 5};
    struct support_random random = {(uint64_t)width};
    const float *x = support_uniform_array(&random, (size_t)(ROWS * (width + MARGIN)), 1.0f);
    const float *before = support_uniform_array(&random, (size_t)(PLACES * width), 1.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor cache = support_tensor(device, type, PLACES, width, before);
        struct clf__tensor wide = support_tensor(device, CLF__F32, ROWS, width + MARGIN, x);
        assert_ok(clf__cache_place(cache, clf__tensor_columns(wide, MARGIN, width),
                                   support_tensor(device, CLF__I32, 1, ROWS, places)));
        float *expected = support_array((size_t)(PLACES * width), sizeof *expected);
        memcpy(expected, before, (size_t)(PLACES * width) * sizeof *expected);
        for (int r = 0; r < ROWS; r++) {
            memcpy(expected + places[r] * width, x + r * (width + MARGIN) + MARGIN,
                   (size_t)width * sizeof *expected);
        }
        if (type == CLF__F16) {
            expected = support_round_halves(expected, (size_t)(PLACES * width));
        }
        assert_memory_equal(support_read(cache), expected, (size_t)(PLACES * width) * sizeof *expected);
    }
    support_free_all();
}

static void test_place(void **state)
{
    (void)state;
    static const int widths[] = {1, 15, 16, 17, 33, 63, 64, 65, 129};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_place(CLF__F32, widths[i]);
        check_place(CLF__F16, widths[i]);
    }
}

/* Rows of sequences with keys become floats, others are unchanged. */
static void check_widen(int width)
{
    enum { ROWS = 9, SEQUENCES = 6 };
    /* First key and count: one empty sequence before two that share keys, another empty one, and one at the
     * end. */
    const int32_t ranges[SEQUENCES * 4] = {0, 1, 4, 0, 1, 1, 4, 2, 2, 1, 4, 2,
                                           3, 1, 7, 0, 4, 1, 0, 3, 5, 1, 8, 1};
    const int is_key[ROWS] = {1, 1, 1, 0, 1, 1, 0, 0, 1};
    struct support_random random = {(uint64_t)width};
    const float *values = support_uniform_array(&random, (size_t)(ROWS * width), 1.0f);
    const float *rounded = support_round_halves(values, (size_t)(ROWS * width));
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor x = support_tensor(device, CLF__F32, ROWS, width, NULL);
        struct clf__sequence_ranges sequences = {.table =
                                                     support_tensor(device, CLF__I32, SEQUENCES, 4, ranges),
                                                 .sequences = SEQUENCES,
                                                 .max_queries = 1,
                                                 .max_keys = 3};
        assert_ok(clf__cache_widen(x, support_tensor(device, CLF__F16, ROWS, width, values), &sequences));
        const float *widened = support_read(x);
        for (int i = 0; i < ROWS * width; i++) {
            assert_true(is_key[i / width] ? widened[i] == rounded[i] : widened[i] != widened[i]);
        }
    }
    support_free_all();
}

static void test_widen(void **state)
{
    (void)state;
    check_widen(1);
    check_widen(24);
    check_widen(69);
}

static void check_follow(int position)
{
    enum { CACHE_ROWS = 6, ROWS = 5 };
    int total = position + 3;
    const int32_t cache_rows[ROWS] = {0, 2, 3, 4, 5}, parents[ROWS] = {2, 2, 5, 0, 3};
    const int32_t positions[ROWS] = {position, position, position, position / 2, 0};
    int32_t *history = support_array((size_t)(CACHE_ROWS * total), sizeof *history);
    int32_t *expected = support_array((size_t)(CACHE_ROWS * total), sizeof *expected);
    for (int i = 0; i < CACHE_ROWS * total; i++) {
        history[i] = 7 * i % CACHE_ROWS;
        expected[i] = INT32_MIN;
    }
    for (int r = 0; r < ROWS; r++) {
        memcpy(expected + cache_rows[r] * total, history + parents[r] * total,
               (size_t)positions[r] * sizeof *expected);
        expected[cache_rows[r] * total + positions[r]] = cache_rows[r];
    }
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor next = support_tensor(device, CLF__I32, CACHE_ROWS, total, NULL);
        assert_ok(clf__cache_follow(next, support_tensor(device, CLF__I32, CACHE_ROWS, total, history),
                                    support_tensor(device, CLF__I32, 1, ROWS, cache_rows),
                                    support_tensor(device, CLF__I32, 1, ROWS, parents),
                                    support_tensor(device, CLF__I32, 1, ROWS, positions)));
        assert_memory_equal(support_read_integers(next), expected,
                            (size_t)(CACHE_ROWS * total) * sizeof *expected);
    }
    support_free_all();
}

static void test_follow(void **state)
{
    (void)state;
    static const int positions[] = {0, 1, 15, 16, 17, 33, 63, 64, 65};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        check_follow(positions[i]);
    }
}

/* Cache rows and positions out of range write nothing. */
static void test_out_of_range(void **state)
{
    (void)state;
    enum { CACHE_ROWS = 2, POSITIONS = 3, WIDTH = 4, ROWS = 4 };
    const int32_t cache_rows[ROWS] = {-1, 2, 0, 1}, positions[ROWS] = {0, 0, 3, -1},
                  parents[ROWS] = {0, 0, 1, 1};
    const int32_t places[ROWS] = {-1, CACHE_ROWS * POSITIONS, INT32_MAX, INT32_MIN};
    float x[ROWS * WIDTH] = {0};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor cache_row = support_tensor(device, CLF__I32, 1, ROWS, cache_rows);
        struct clf__tensor position = support_tensor(device, CLF__I32, 1, ROWS, positions);
        struct clf__tensor cache = support_tensor(device, CLF__F32, CACHE_ROWS * POSITIONS, WIDTH, NULL);
        struct clf__tensor next = support_tensor(device, CLF__I32, CACHE_ROWS, POSITIONS, NULL);
        struct clf__tensor history = support_tensor(device, CLF__I32, CACHE_ROWS, POSITIONS, NULL);
        assert_ok(clf__cache_place(cache, support_tensor(device, CLF__F32, ROWS, WIDTH, x),
                                   support_tensor(device, CLF__I32, 1, ROWS, places)));
        assert_ok(clf__cache_follow(next, history, cache_row,
                                    support_tensor(device, CLF__I32, 1, ROWS, parents), position));
        const float *values = support_read(cache);
        for (int i = 0; i < CACHE_ROWS * POSITIONS * WIDTH; i++) {
            assert_true(values[i] != values[i]);
        }
        assert_memory_equal(support_read_integers(next), support_read_integers(history),
                            CACHE_ROWS * POSITIONS * sizeof(int32_t));
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor none = support_tensor(device, CLF__I32, 1, 0, NULL);
        struct clf__tensor cache = support_tensor(device, CLF__F32, 4, 3, NULL);
        struct clf__tensor next = support_tensor(device, CLF__I32, 2, 2, NULL);
        struct clf__tensor history = support_tensor(device, CLF__I32, 2, 2, NULL);
        assert_ok(clf__cache_place(cache, support_tensor(device, CLF__F32, 0, 3, NULL), none));
        assert_ok(clf__cache_follow(next, history, none, none, none));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_place, support_teardown),
        cmocka_unit_test_teardown(test_widen, support_teardown),
        cmocka_unit_test_teardown(test_follow, support_teardown),
        cmocka_unit_test_teardown(test_out_of_range, support_teardown),
        cmocka_unit_test_teardown(test_no_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
