#include "device/levels.h"
#include "support/support.h"

static void test_find(void **state)
{
    (void)state;
    const int every = CLF__DOT_INT8 | CLF__DOT_BF16;
    assert_ptr_equal(clf__level_find(0), clf__level_portable());
    assert_int_equal(clf__level_find(every)->instructions, every);
    assert_int_equal(clf__level_find(CLF__DOT_INT8)->instructions, CLF__DOT_INT8);
    /* No level uses bf16's instruction alone, and what is not known yet does not matter. */
    assert_ptr_equal(clf__level_find(CLF__DOT_BF16), clf__level_portable());
    assert_ptr_equal(clf__level_find(every | 1 << 20), clf__level_find(every));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
