/* Batches: every line once, within budgets, longest first. */
#include "support/support.h"

#include <limits.h>

#include "base/memory.h"
#include "text/batch.h"

/* Checks the guarantees of the header for any plan. */
static void check_plan(const struct clf__batches *batches, const int *lengths, int lines, int max_tokens,
                       int max_lines)
{
    char *seen = support_array((size_t)lines + 1, 1);
    int previous = -1, planned = 0;
    assert_int_equal(batches->first[0], 0);
    for (int b = 0; b < batches->count; b++) {
        int count = batches->first[b + 1] - batches->first[b];
        long long tokens = 0;
        assert_in_range(count, 1, max_lines);
        for (int i = batches->first[b]; i < batches->first[b + 1]; i++) {
            int line = batches->order[i];
            assert_in_range(line, 0, lines - 1);
            assert_int_equal(seen[line]++, 0);
            assert_true(lengths[line] > 0);
            if (previous >= 0) {
                assert_true(lengths[previous] > lengths[line] ||
                            (lengths[previous] == lengths[line] && previous < line));
            }
            previous = line;
            tokens += lengths[line];
            planned++;
        }
        assert_true(tokens <= max_tokens || count == 1);
        /* The first line of the next batch did not fit in this one. */
        if (b + 1 < batches->count) {
            assert_true(count == max_lines ||
                        tokens + lengths[batches->order[batches->first[b + 1]]] > max_tokens);
        }
    }
    for (int i = 0; i < lines; i++) {
        planned += lengths[i] == 0;
    }
    assert_int_equal(planned, lines);
}

static void test_random_lines(void **state)
{
    (void)state;
    struct support_random random = {5};
    for (int round = 0; round < 300; round++) {
        int lines = support_integer(&random, 200);
        int *lengths = support_array((size_t)lines + 1, sizeof *lengths);
        int longest = 1 + support_integer(&random, 60);
        for (int i = 0; i < lines; i++) {
            lengths[i] = support_integer(&random, longest);
        }
        int max_tokens = 1 + support_integer(&random, 100), max_lines = 1 + support_integer(&random, 20);
        struct clf__batches batches;
        assert_ok(clf__batches_plan(&batches, lengths, lines, max_tokens, max_lines));
        check_plan(&batches, lengths, lines, max_tokens, max_lines);
        clf__batches_free(&batches);
        support_free_all();
    }
}

static void test_known_plan(void **state)
{
    (void)state;
    static const int lengths[] = {3, 0, 5, 3, 20, 1};
    struct clf__batches batches;
    assert_ok(clf__batches_plan(&batches, lengths, 6, 8, 64));
    static const int order[] = {4, 2, 0, 3, 5}, first[] = {0, 1, 3, 5};
    assert_int_equal(batches.count, 3);
    assert_memory_equal(batches.order, order, sizeof order);
    assert_memory_equal(batches.first, first, sizeof first);
    clf__batches_free(&batches);
    clf__batches_free(&batches);
}

static void test_sort(void **state)
{
    (void)state;
    static const int lengths[] = {3, 0, 5, 3, 20, 1}, expected[] = {4, 2, 0, 3, 5};
    int order[6], count;
    assert_ok(clf__lines_sort(order, &count, lengths, 6));
    assert_int_equal(count, 5);
    assert_memory_equal(order, expected, sizeof expected);
    assert_ok(clf__lines_sort(order, &count, lengths + 1, 1));
    assert_int_equal(count, 0);
}

static void test_nothing_to_plan(void **state)
{
    (void)state;
    static const int empty[] = {0, 0, 0};
    for (int lines = 0; lines <= 3; lines += 3) {
        struct clf__batches batches;
        assert_ok(clf__batches_plan(&batches, empty, lines, 8, 4));
        assert_int_equal(batches.count, 0);
        assert_int_equal(batches.first[0], 0);
        clf__batches_free(&batches);
    }
}

static void test_the_longest_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {INT_MAX, 1, INT_MAX, INT_MAX - 1};
    struct clf__batches batches;
    assert_ok(clf__batches_plan(&batches, lengths, 4, INT_MAX, 100));
    static const int order[] = {0, 2, 3, 1};
    assert_memory_equal(batches.order, order, sizeof order);
    assert_int_equal(batches.count, 3);
    clf__batches_free(&batches);
}

static void test_bad_budgets(void **state)
{
    (void)state;
    static const int lengths[] = {1};
    struct clf__batches batches;
    assert_fails(clf__batches_plan(&batches, lengths, 1, 0, 1), CLF_BAD_ARGUMENT, "0 tokens");
    assert_fails(clf__batches_plan(&batches, lengths, 1, 1, 0), CLF_BAD_ARGUMENT, "0 lines");
    assert_fails(clf__batches_plan(&batches, lengths, -1, 1, 1), CLF_BAD_ARGUMENT, "-1 lines");
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const int lengths[] = {4, 2, 9};
    struct clf__batches batches;
    for (uint64_t n = 1; n <= 3; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__batches_plan(&batches, lengths, 3, 8, 4), CLF_OUT_OF_MEMORY, "");
        assert_null(batches.order);
    }
    clf__memory_fail_at(4);
    assert_ok(clf__batches_plan(&batches, lengths, 3, 8, 4));
    clf__memory_fail_at(0);
    clf__batches_free(&batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_random_lines, support_teardown),
        cmocka_unit_test(test_known_plan),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_nothing_to_plan),
        cmocka_unit_test(test_the_longest_lengths),
        cmocka_unit_test(test_bad_budgets),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
