/* The output of --verbose on standard error, and its absence without the flag. */
#include "support/process.h"

#define MODEL " -m " DEMO_MODEL " "

/* Fails unless errors contain the kernel table with a GEMM kernel, once. */
static void check_table(struct process_result result)
{
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.errors, " s on the device; peak "), 1);
    assert_int_equal(process_count(result.errors, "\n  kernel "), 1);
    assert_int_equal(process_count(result.errors, "\n  gemm_weight_"), 1);
    assert_true(process_count(result.errors, " % of reading\n") >= 1);
    assert_true(process_count(result.errors, "\n") <= 32);
}

/* Fails unless the host's encoding and decoding times are present and non-zero. */
static void check_stages(struct process_result result, const char *part)
{
    assert_int_equal(process_count(result.errors, "clformer: tokenize "), 1);
    assert_int_equal(process_count(result.errors, " s, encode "), 1);
    assert_int_equal(process_count(result.errors, " s, decode "), 1);
    assert_int_equal(process_count(result.errors, "encode 0.000 s"), 0);
    assert_int_equal(process_count(result.errors, "decode 0.000 s"), 0);
    assert_int_equal(process_count(result.errors, part), 1);
}

static void test_translate(void **state)
{
    (void)state;
    const char *lines = "Merci.\nMerci.\n";
    struct process_result verbose = run_clformer(lines, "translate" MODEL "--gemm native --verbose");
    check_table(verbose);
    assert_int_equal(process_count(verbose.errors, "clformer: 2 lines, "), 1);
    struct process_result plain = run_clformer(lines, "translate" MODEL "--gemm native");
    assert_output(plain, "Thanks.\nThanks.\n");
    assert_output(verbose, "Thanks.\nThanks.\n");
    assert_string_equal(plain.errors, "");
}

static void test_score(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "fr", "Merci.\n", 7);
    process_write(folder, "en", "Thanks.\n", 8);
    struct process_result result =
        run_clformer("", process_format("score" MODEL "%s/fr %s/en --gemm native --verbose", folder, folder));
    check_table(result);
    assert_int_equal(process_count(result.errors, "clformer: 1 lines, "), 1);
    assert_int_equal(process_count(result.errors, " steps"), 0); /* the target is given */
}

static void test_attend(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result =
        run_clformer("", process_format("attend" MODEL "Merci. -o %s/page.html --gemm native -v", folder));
    check_table(result);
    check_stages(result, " steps of ");
    result = run_clformer("", process_format("attend" MODEL "Merci. --target Thanks. -o %s/page.html "
                                             "--gemm native -v",
                                             folder));
    check_stages(result, "clformer: tokenize 0.");
    assert_int_equal(process_count(result.errors, " steps"), 0); /* the target is given */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_attend, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
