/* The Debian packages and the image of the Containerfile: built, installed in a bare root, used and removed.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "support/process.h"

enum { NOT_POSSIBLE = 77 };

static void test_packages(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the packages are built without sanitizers */
#endif
    process_set_environment();
    int status = system("'" CLF_SOURCE_FOLDER "/tests/end_to_end/packages/use_packages' '" CLF_BUILD_FOLDER
                        "/packages' </dev/null");
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_POSSIBLE) {
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_packages, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
