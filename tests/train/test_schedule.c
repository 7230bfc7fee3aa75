/* Learning rates against the published formulas, written out at single updates. */
#include "support/support.h"

#include <math.h>

#include "train/schedule.h"

#define assert_near(actual, expected) assert_true(fabs((actual) - (expected)) <= 1e-12 * fabs(expected))

static void test_noam(void **state)
{
    (void)state;
    struct clf__schedule schedule = {.kind = CLF__NOAM, .factor = 2, .warm_up = 4000, .d_model = 512};
    assert_near(clf__schedule_rate(&schedule, 1), 2 / sqrt(512) / (4000 * sqrt(4000)));
    assert_near(clf__schedule_rate(&schedule, 2000), 2 / sqrt(512) * 2000 / (4000 * sqrt(4000)));
    assert_near(clf__schedule_rate(&schedule, 4000), 2 / sqrt(512) / sqrt(4000));
    assert_near(clf__schedule_rate(&schedule, 4001), 2 / sqrt(512) / sqrt(4001));
    assert_near(clf__schedule_rate(&schedule, 16000), 2 / sqrt(512) / sqrt(16000));
    schedule.warm_up = 0;
    assert_near(clf__schedule_rate(&schedule, 1), 2 / sqrt(512));
    assert_near(clf__schedule_rate(&schedule, 4), 1 / sqrt(512));
}

/* fairseq's: after n updates warm-up goes from 1e-7 by n steps of (0.005 - 1e-7) / 2000. */
static void test_inverse_square_root(void **state)
{
    (void)state;
    struct clf__schedule schedule = {
        .kind = CLF__INVERSE_SQRT, .peak = 0.005, .initial = 1e-7, .warm_up = 2000};
    assert_near(clf__schedule_rate(&schedule, 1), 1e-7);
    assert_near(clf__schedule_rate(&schedule, 2), 1e-7 + (0.005 - 1e-7) / 2000);
    assert_near(clf__schedule_rate(&schedule, 2000), 1e-7 + 1999 * (0.005 - 1e-7) / 2000);
    assert_near(clf__schedule_rate(&schedule, 2001), 0.005);
    assert_near(clf__schedule_rate(&schedule, 8001), 0.0025);
    schedule.warm_up = 0;
    assert_near(clf__schedule_rate(&schedule, 1), 0.005);
    assert_near(clf__schedule_rate(&schedule, 5), 0.0025);
}

static void test_linear(void **state)
{
    (void)state;
    struct clf__schedule schedule = {.kind = CLF__LINEAR, .peak = 1, .warm_up = 10, .last = 110};
    assert_true(clf__schedule_rate(&schedule, 1) == 0);
    assert_near(clf__schedule_rate(&schedule, 6), 0.5);
    assert_near(clf__schedule_rate(&schedule, 11), 1.0);
    assert_near(clf__schedule_rate(&schedule, 61), 0.5);
    assert_near(clf__schedule_rate(&schedule, 110), 0.01);
    assert_true(clf__schedule_rate(&schedule, 111) == 0);
    assert_true(clf__schedule_rate(&schedule, 200) == 0);
}

static void test_constant(void **state)
{
    (void)state;
    struct clf__schedule schedule = {.kind = CLF__CONSTANT, .peak = 0.3, .initial = 0.1, .warm_up = 4};
    assert_near(clf__schedule_rate(&schedule, 1), 0.1);
    assert_near(clf__schedule_rate(&schedule, 3), 0.2);
    assert_near(clf__schedule_rate(&schedule, 5), 0.3);
    assert_near(clf__schedule_rate(&schedule, 1000000), 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noam),
        cmocka_unit_test(test_inverse_square_root),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
