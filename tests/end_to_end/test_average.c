/* `clformer average`. */
#include <string.h>
#include <sys/stat.h>

#include "support/process.h"

/* The mean of a model with itself is that model. */
static void test_average(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result =
        run_clformer(NULL, process_format("average -o %s/mean " DEMO_MODEL " " DEMO_MODEL, folder));
    assert_output(result, "");
    result = run_clformer("Je suis étudiant\n", process_format("translate -m %s/mean", folder));
    assert_output(result, "I'm a student.\n");
    result = run_clformer(NULL, process_format("average -o %s/mean " DEMO_MODEL, folder));
    assert_refused(result, 1, "mean");
    result = run_clformer(NULL, process_format("average -o %s/other " DEMO_MODEL " /no/such/model", folder));
    assert_refused(result, 1, "/no/such/model");
    struct stat status;
    assert_int_not_equal(stat(process_format("%s/other", folder), &status), 0);
}

static void test_bad_calls(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "average model");
    assert_refused(result, 2, "-o FOLDER");
    result = run_clformer(NULL, "average -o model");
    assert_refused(result, 2, "one or more model");
    result = run_clformer(NULL, "average -o model -m other model");
    assert_refused(result, 2, "-m: unknown flag of average");
    result = run_clformer(NULL, "average --help");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "$ clformer average"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_average, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
