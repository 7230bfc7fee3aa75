/* Known answers of Philox, and shuffles. */
#include "support/support.h"

#include "base/random.h"

static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } cases[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t words[4];
        clf__philox(words, cases[i].counter, cases[i].key);
        assert_memory_equal(words, cases[i].words, sizeof words);
    }
}

static void test_units(void **state)
{
    (void)state;
    assert_true(clf__random_unit(0, 0) == 0);
    assert_true(clf__random_unit(0x80000000, 0) == 0.5);
    assert_true(clf__random_unit(UINT32_MAX, UINT32_MAX) == 1 - 0x1p-53);
}

enum { ITEMS = 5, ROUNDS = 12000 };

static void fill(int *items)
{
    for (int i = 0; i < ITEMS; i++) {
        items[i] = i;
    }
}

/* Every item is at every position equally often, within five standard deviations. */
static void test_shuffles(void **state)
{
    (void)state;
    int counts[ITEMS][ITEMS] = {{0}};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        int items[ITEMS], again[ITEMS];
        fill(items);
        fill(again);
        clf__shuffle(items, ITEMS, 17, CLF__RANDOM_PAIRS, round);
        clf__shuffle(again, ITEMS, 17, CLF__RANDOM_PAIRS, round);
        assert_memory_equal(items, again, sizeof items);
        int seen = 0;
        for (int i = 0; i < ITEMS; i++) {
            seen |= 1 << items[i];
            counts[i][items[i]]++;
        }
        assert_int_equal(seen, (1 << ITEMS) - 1);
    }
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k < ITEMS; k++) {
            assert_in_range(counts[i][k], ROUNDS / ITEMS - 220, ROUNDS / ITEMS + 220);
        }
    }
}

static void test_what_decides(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    int items[4][COUNT];
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < COUNT; k++) {
            items[i][k] = k;
        }
    }
    clf__shuffle(items[0], COUNT, 1, CLF__RANDOM_PAIRS, 0);
    clf__shuffle(items[1], COUNT, 1ull << 32, CLF__RANDOM_PAIRS, 0);
    clf__shuffle(items[2], COUNT, 1, CLF__RANDOM_BATCHES, 0);
    clf__shuffle(items[3], COUNT, 1, CLF__RANDOM_PAIRS, 1);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(items[i], items[k], sizeof *items);
        }
    }
    clf__shuffle(items[0], 0, 1, CLF__RANDOM_PAIRS, 0);
    int one = 7;
    clf__shuffle(&one, 1, 1, CLF__RANDOM_PAIRS, 0);
    assert_int_equal(one, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_what_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
