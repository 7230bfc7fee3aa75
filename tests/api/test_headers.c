/* Every public header compiles by itself, as C11 and as C++17. */
#include "support/support.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static void compile_each(const char *compiler)
{
    glob_t headers;
    assert_int_equal(glob(CLF_SOURCE_FOLDER "/include/clformer/*.h", 0, NULL, &headers), 0);
    for (size_t i = 0; i < headers.gl_pathc; i++) {
        char command[4096];
        snprintf(command, sizeof command,
                 "%s -Wall -Wextra -Wpedantic -Werror -I'%s/include' -fsyntax-only '%s'", compiler,
                 CLF_SOURCE_FOLDER, headers.gl_pathv[i]);
        if (system(command) != 0) {
            fail_msg("%s does not compile alone: %s", headers.gl_pathv[i], command);
        }
    }
    globfree(&headers);
}

static void test_c11(void **state)
{
    (void)state;
    compile_each(CLF_C_COMPILER " -std=c11 -x c");
}

static void test_cxx17(void **state)
{
    (void)state;
    compile_each(CLF_CXX_COMPILER " -std=c++17 -x c++");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c11),
        cmocka_unit_test(test_cxx17),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
