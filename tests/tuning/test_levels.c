#include "runtime/tuning/levels.h"
#include "support/support.h"

static void test_find(void **state)
{
    (void)state;
    const clf_instructions best = CLF_INSTRUCTIONS_AUTO;
    const int avx512 = CLF__WIDE | CLF__AVX2 | CLF__AVX512;
    const struct {
        int instructions;
        clf_instructions name;
    } cases[] = {
        {0, CLF_INSTRUCTIONS_PORTABLE},
        {CLF__WIDE, CLF_INSTRUCTIONS_PORTABLE},
        {CLF__AVX2, CLF_INSTRUCTIONS_AVX2},
        {CLF__AVX2 | CLF__DOT_INT8_256, CLF_INSTRUCTIONS_AVX_VNNI},
        {CLF__DOT_INT8_256, CLF_INSTRUCTIONS_PORTABLE},
        {avx512, CLF_INSTRUCTIONS_AVX512},
        {avx512 | CLF__DOT_INT8_256 | CLF__DOT_INT8, CLF_INSTRUCTIONS_AVX512_VNNI},
        {avx512 | CLF__DOT_INT8 | CLF__DOT_BF16, CLF_INSTRUCTIONS_AVX512_BF16},
        {avx512 | CLF__DOT_INT8 | CLF__DOT_BF16 | CLF__TILES, CLF_INSTRUCTIONS_AMX},
        {avx512 | CLF__DOT_INT8 | CLF__TILES, CLF_INSTRUCTIONS_AVX512_VNNI},
        {avx512 | CLF__DOT_BF16, CLF_INSTRUCTIONS_AVX512}, /* no level uses only bf16's instruction */
        {CLF__NEON, CLF_INSTRUCTIONS_NEON},
        {CLF__NEON | CLF__DOT_INT8_128, CLF_INSTRUCTIONS_DOTPROD},
        {CLF__DOT_INT8_128, CLF_INSTRUCTIONS_PORTABLE},
        {CLF__AVX2 | 1 << 20, CLF_INSTRUCTIONS_AVX2}, /* unknown bits are ignored */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(clf__level_find(best, cases[i].instructions)->name, cases[i].name);
    }
    assert_ptr_equal(clf__level_find(best, 0), clf__level_portable());
    assert_int_equal(clf__level_find(best, CLF__WIDE)->lanes, 16);
    assert_int_equal(clf__level_find(CLF_INSTRUCTIONS_AVX2, avx512)->name, CLF_INSTRUCTIONS_AVX2);
    assert_null(clf__level_find(CLF_INSTRUCTIONS_AVX512, CLF__AVX2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
