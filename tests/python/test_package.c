/* The Python package: tests/python/run builds, installs and tests it. */
#include <stdlib.h>
#include <sys/wait.h>

#include "support/process.h"

enum { NOT_INSTALLED = 77 };

static void test_python(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* Python does not load the sanitizer's runtime */
#endif
    process_set_environment();
    int status = system("'" CLF_SOURCE_FOLDER "/tests/python/run' '" CLF_BUILD_FOLDER "' </dev/null");
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_INSTALLED) {
        print_message("the packages of tests/python/requirements.txt cannot be installed\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_python, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
