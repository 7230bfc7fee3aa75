/* The model that a run begins with: when it is not drawn. */
#include "support/digits.h"

#include <string.h>

#include "support/process.h"

/* Weights of more than any device has: refused in a moment, not drawn first. */
static void test_a_model_that_the_device_cannot_train(void **state)
{
    (void)state;
    static const char *const wide[] = {"d_model=65536", "encoder_layers=4096"};
    const char *output = digits_output();
    assert_ok(clf_recipe_set(task.recipe, "config", wide, 2));
    assert_fails(digits_train(output, task.logs), CLF_DEVICE_MEMORY, "GiB of the device's memory at least");
    assert_non_null(strstr(clf_last_error(), " are free"));
    assert_false(digits_has_checkpoint(output, 0));
}

static int stop(void *asked)
{
    ++*(int *)asked;
    return 1;
}

static void test_drawing_can_be_interrupted(void **state)
{
    (void)state;
    int asked = 0;
    const char *output = digits_output();
    struct clf_train_hooks hooks = {.interrupted = stop, .user = &asked};
    assert_fails(clf_train(digits_device(), task.recipe, output, &hooks), CLF_INTERRUPTED,
                 "before its first update");
    assert_int_equal(asked, 1);
    assert_false(digits_has_checkpoint(output, 0));
    assert_ok(digits_train(output, task.logs));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_model_that_the_device_cannot_train),
        TEST(test_drawing_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
