/* 16-bit floats: every value in both directions, and values between them. */
#include "support/support.h"

#include <math.h>

#include "base/half.h"

static void test_every_half(void **state)
{
    (void)state;
    for (int bits = 0; bits < 0x10000; bits++) {
        float half = clf__float_of_fp16((uint16_t)bits), upper = clf__float_of_bf16((uint16_t)bits);
        if (isnan(half)) {
            assert_true(isnan(clf__float_of_fp16(clf__fp16_of(half))));
        } else {
            assert_int_equal(clf__fp16_of(half), bits);
        }
        if (isnan(upper)) {
            assert_true(isnan(clf__float_of_bf16(clf__bf16_of(upper))));
        } else {
            assert_int_equal(clf__bf16_of(upper), bits);
        }
    }
}

/* A tie rounds to the even neighbour, other values to the nearest. */
static void check_ties(uint16_t (*of)(float), float (*value)(uint16_t), int finite)
{
    for (int bits = 0; bits + 1 < finite; bits++) {
        float below = value((uint16_t)bits), above = value((uint16_t)(bits + 1));
        float between = (float)(((double)below + above) / 2);
        assert_int_equal(of(between), bits + (bits & 1));
        assert_int_equal(of(nextafterf(between, 0.0f)), bits);
        assert_int_equal(of(nextafterf(between, INFINITY)), bits + 1);
        assert_int_equal(of(-between), 0x8000 + bits + (bits & 1));
    }
}

static void test_ties(void **state)
{
    (void)state;
    check_ties(clf__fp16_of, clf__float_of_fp16, 0x7c00);
    check_ties(clf__bf16_of, clf__float_of_bf16, 0x7f80);
}

static void test_too_large(void **state)
{
    (void)state;
    assert_int_equal(clf__fp16_of(65519.0f), 0x7bff);
    assert_int_equal(clf__fp16_of(65520.0f), 0x7c00);
    assert_int_equal(clf__fp16_of(-1e30f), 0xfc00);
    assert_int_equal(clf__bf16_of(3.4e38f), 0x7f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
