/* The shared library exports the functions of the headers, which symbols.txt lists, and nothing else. A
 * change of the list is a change of the ABI: include/clformer/README.md explains what that means for the
 * version. */
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "support/process.h"
#include "support/support.h"

#define LIST CLF_SOURCE_FOLDER "/tests/api/symbols.txt"

static void test_exports(void **state)
{
    (void)state;
    assert_string_equal(process_shell("nm -D --defined-only '" CLF_SHARED_LIBRARY
                                      "' | cut -d ' ' -f 3 | LC_ALL=C sort"
                                      " | diff - '" LIST "'"),
                        "");
}

static void test_headers(void **state)
{
    (void)state;
    assert_string_equal(
        process_shell("sed -n 's/^CLF_API .*\\(clf_[a-z0-9_]*\\)(.*/\\1/p' '" CLF_SOURCE_FOLDER
                      "'/include/clformer/*.h | LC_ALL=C sort | diff - '" LIST "'"),
        "");
}

static void test_name(void **state)
{
    (void)state;
    char line[64];
    snprintf(line, sizeof line, "[libclformer.so.%d]", CLF_VERSION_MAJOR);
    assert_non_null(strstr(process_shell("readelf -d '" CLF_SHARED_LIBRARY "' | grep SONAME"), line));
}

static void test_version(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CLF_VERSION_MAJOR, CLF_VERSION_MINOR, CLF_VERSION_PATCH);
    assert_string_equal(text, CLF_VERSION_STRING);
    assert_string_equal(clf_version(), CLF_VERSION_STRING);
    assert_int_equal(clf_version_number(), CLF_VERSION_NUMBER);
}

/* A program in C that links the shared library alone. */
static void test_program(void **state)
{
    (void)state;
    char *command = process_format(
        "cd '%s' && printf '#include <clformer/clformer.h>\\n#include <stdio.h>\\nint main(void)\\n{\\n"
        "return puts(clf_version()) < 0;\\n}\\n' > program.c && '" CLF_C_COMPILER "' " CLF_EXAMPLE_FLAGS
        " -I '" CLF_SOURCE_FOLDER "/include' program.c -o program '" CLF_SHARED_LIBRARY "' && "
        "LD_LIBRARY_PATH=\"$(dirname '" CLF_SHARED_LIBRARY "')\" ./program",
        support_temporary_folder());
    assert_string_equal(process_shell(command), CLF_VERSION_STRING "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_exports, support_teardown),
        cmocka_unit_test_teardown(test_headers, support_teardown),
        cmocka_unit_test_teardown(test_name, support_teardown),
        cmocka_unit_test(test_version),
        cmocka_unit_test_teardown(test_program, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
