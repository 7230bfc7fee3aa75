/* Learning rates against the published formulas at single updates. */
#include "support/support.h"

#include <math.h>

#include "model/config/config.h"
#include "train/schedule.h"

#define assert_near(actual, expected) assert_true(fabs((actual) - (expected)) <= 1e-12 * fabs(expected))

static void test_noam(void **state)
{
    (void)state;
    struct clf__settings settings = {.schedule = CLF__NOAM, .noam_factor = 2, .warm_up = 4000};
    assert_near(clf__schedule_rate(&settings, 512, 1), 2 / sqrt(512) / (4000 * sqrt(4000)));
    assert_near(clf__schedule_rate(&settings, 512, 2000), 2 / sqrt(512) * 2000 / (4000 * sqrt(4000)));
    assert_near(clf__schedule_rate(&settings, 512, 4000), 2 / sqrt(512) / sqrt(4000));
    assert_near(clf__schedule_rate(&settings, 512, 4001), 2 / sqrt(512) / sqrt(4001));
    assert_near(clf__schedule_rate(&settings, 512, 16000), 2 / sqrt(512) / sqrt(16000));
    settings.warm_up = 0;
    assert_near(clf__schedule_rate(&settings, 512, 1), 2 / sqrt(512));
    assert_near(clf__schedule_rate(&settings, 512, 4), 1 / sqrt(512));
}

/* Values of torch.optim.lr_scheduler.LambdaLR in The Annotated Transformer's loop, which steps it after Adam:
 * D 512, warm-up 3,000. jadore's loop sets the rate before Adam's step. */
static void test_noam_of_the_architectures(void **state)
{
    (void)state;
    static const struct {
        int update;
        double rate;
    } annotated[] = {{1, 2.689571768199595e-07},    {2, 2.689571768199595e-07},
                     {3, 5.37914353639919e-07},     {3000, 0.0008066025732830585},
                     {3001, 0.0008068715304598785}, {3002, 0.0008067370854817796}};
    struct clf__settings settings = {
        .preset = CLF__ANNOTATED, .schedule = CLF__NOAM, .noam_factor = 1, .warm_up = 3000};
    for (size_t i = 0; i < sizeof annotated / sizeof *annotated; i++) {
        assert_near(clf__schedule_rate(&settings, 512, annotated[i].update), annotated[i].rate);
    }
    static const enum clf__architecture_id others[] = {CLF__PAPER, CLF__JADORE, CLF__ILLUSTRATED};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        settings.preset = others[i];
        assert_near(clf__schedule_rate(&settings, 512, 2), 2 * annotated[0].rate);
    }
}

/* fairseq: after n updates, warm-up rises from 1e-7 by n steps of (0.005 - 1e-7) / 2000. */
static void test_inverse_square_root(void **state)
{
    (void)state;
    struct clf__settings settings = {.schedule = CLF__INVERSE_SQRT,
                                     .learning_rate = 0.005,
                                     .initial_learning_rate = 1e-7,
                                     .warm_up = 2000};
    assert_near(clf__schedule_rate(&settings, 512, 1), 1e-7);
    assert_near(clf__schedule_rate(&settings, 512, 2), 1e-7 + (0.005 - 1e-7) / 2000);
    assert_near(clf__schedule_rate(&settings, 512, 2000), 1e-7 + 1999 * (0.005 - 1e-7) / 2000);
    assert_near(clf__schedule_rate(&settings, 512, 2001), 0.005);
    assert_near(clf__schedule_rate(&settings, 512, 8001), 0.0025);
    settings.warm_up = 0;
    assert_near(clf__schedule_rate(&settings, 512, 1), 0.005);
    assert_near(clf__schedule_rate(&settings, 512, 5), 0.0025);
}

static void test_linear(void **state)
{
    (void)state;
    struct clf__settings settings = {
        .schedule = CLF__LINEAR, .learning_rate = 1, .warm_up = 10, .max_updates = 110};
    assert_true(clf__schedule_rate(&settings, 512, 1) == 0);
    assert_near(clf__schedule_rate(&settings, 512, 6), 0.5);
    assert_near(clf__schedule_rate(&settings, 512, 11), 1.0);
    assert_near(clf__schedule_rate(&settings, 512, 61), 0.5);
    assert_near(clf__schedule_rate(&settings, 512, 110), 0.01);
    assert_true(clf__schedule_rate(&settings, 512, 111) == 0);
    assert_true(clf__schedule_rate(&settings, 512, 200) == 0);
}

static void test_constant(void **state)
{
    (void)state;
    struct clf__settings settings = {
        .schedule = CLF__CONSTANT, .learning_rate = 0.3, .initial_learning_rate = 0.1, .warm_up = 4};
    assert_near(clf__schedule_rate(&settings, 512, 1), 0.1);
    assert_near(clf__schedule_rate(&settings, 512, 3), 0.2);
    assert_near(clf__schedule_rate(&settings, 512, 5), 0.3);
    assert_near(clf__schedule_rate(&settings, 512, 1000000), 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noam),
        cmocka_unit_test(test_noam_of_the_architectures),
        cmocka_unit_test(test_inverse_square_root),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
