/* Computed operations and bytes of attention over a ragged batch, against counting pairs one by one. */
#include "math/ops/attention.h"
#include "support/support.h"

enum { SEQUENCES = 4 };

static const int32_t tables[2][SEQUENCES * 4] = {
    {0, 1, 0, 1, 1, 7, 1, 7, 8, 3, 8, 3, 11, 16, 11, 16}, /* self-attention */
    {0, 4, 0, 9, 4, 4, 9, 31, 8, 1, 40, 0, 9, 2, 40, 2},  /* cross-attention, also without keys */
};

static void ranges(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int causal = 0; causal <= 1 - t; causal++) {
            struct clf__sequence_ranges ranges = {.sequences = SEQUENCES};
            double pairs = 0.0, keys = 0.0;
            for (int b = 0; b < SEQUENCES; b++) {
                const int32_t *range = tables[t] + 4 * b;
                keys += range[3];
                for (int i = 0; i < range[1]; i++) {
                    for (int j = 0; j < range[3]; j++) {
                        pairs += !causal || j <= i + range[3] - range[1];
                    }
                }
            }
            clf__ranges_count(&ranges, tables[t], causal);
            assert_true(ranges.pairs == pairs && ranges.keys == keys);
        }
    }
}

static void attention(void **state)
{
    (void)state;
    struct clf__heads heads = {.count = 8, .key_width = 64, .value_width = 32};
    struct clf__cost cost = clf__attention_cost(&heads, 10.0, 20.0, CLF__F32, 150.0);
    assert_true(cost.operations == 8 * 150.0 * (2 * 64 + 2 * 32 + 5));
    assert_true(cost.bytes == 4.0 * 8 * (10.0 * (64 + 32) + 20.0 * (64 + 32)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges), cmocka_unit_test(attention)};
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
