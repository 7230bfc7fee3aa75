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

/* The structs that clformer.h lists as fixed have the sizes of the last version. */
static void test_fixed_structs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size, fixed; /* fixed: with pointers of 8 bytes */
    } structs[] = {
        {"clf_alignment_link", sizeof(struct clf_alignment_link), 32},
        {"clf_bleu", sizeof(struct clf_bleu), 64},
        {"clf_hypothesis", sizeof(struct clf_hypothesis), 40},
        {"clf_ids", sizeof(struct clf_ids), 16},
        {"clf_kernel_time", sizeof(struct clf_kernel_time), 56},
        {"clf_line", sizeof(struct clf_line), 16},
        {"clf_mark", sizeof(struct clf_mark), 24},
        {"clf_recipe_key", sizeof(struct clf_recipe_key), 32},
        {"clf_score", sizeof(struct clf_score), 56},
        {"clf_segment", sizeof(struct clf_segment), 104},
        {"clf_train_sample", sizeof(struct clf_train_sample), 24},
        {"clf_translation", sizeof(struct clf_translation), 56},
        {"clf_wer", sizeof(struct clf_wer), 40},
        {"clf_window_alignment", sizeof(struct clf_window_alignment), 32},
        {"clf_window_result", sizeof(struct clf_window_result), 24},
        {"clf_window_text", sizeof(struct clf_window_text), 48},
        {"clf_word", sizeof(struct clf_word), 32},
    };
    char names[1024] = "";
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
        strcat(strcat(names, structs[i].name), "\n");
        if (sizeof(void *) == 8) {
            assert_int_equal(structs[i].size, structs[i].fixed);
        }
    }
    assert_string_equal(
        process_shell("sed -n '/All other structs/,/wer\\./p' '" CLF_SOURCE_FOLDER
                      "/include/clformer/clformer.h' | grep -o 'clf_[a-z_]*' | LC_ALL=C sort"),
        names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_exports, support_teardown),
        cmocka_unit_test_teardown(test_headers, support_teardown),
        cmocka_unit_test_teardown(test_name, support_teardown),
        cmocka_unit_test(test_version),
        cmocka_unit_test_teardown(test_fixed_structs, support_teardown),
        cmocka_unit_test_teardown(test_program, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
