/* Variables that are set, empty and missing. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/memory.h"

static void test_value(void **state)
{
    (void)state;
    setenv("CLFORMER_DEVICE", "chosen", 1);
    assert_string_equal(clf__environment_value("CLFORMER_DEVICE"), "chosen");
    setenv("CLFORMER_DEVICE", "", 1);
    assert_null(clf__environment_value("CLFORMER_DEVICE"));
    unsetenv("CLFORMER_DEVICE");
    assert_null(clf__environment_value("CLFORMER_DEVICE"));
}

static void check_cache_folder(const char *cache, const char *home, const char *expected)
{
    cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    char *folder = NULL;
    if (!expected) {
        assert_fails(clf__environment_cache_folder(&folder), CLF_FILE, "XDG_CACHE_HOME");
        assert_null(folder);
        return;
    }
    assert_ok(clf__environment_cache_folder(&folder));
    assert_string_equal(folder, expected);
    clf__free(folder);
}

static void test_cache_folder(void **state)
{
    (void)state;
    check_cache_folder("/x/cache", "/home/me", "/x/cache/clformer");
    check_cache_folder("relative", "/home/me", "/home/me/.cache/clformer");
    check_cache_folder("", "/home/me", "/home/me/.cache/clformer");
    check_cache_folder(NULL, "/home/me", "/home/me/.cache/clformer");
    check_cache_folder(NULL, "", NULL);
    check_cache_folder(NULL, NULL, NULL);
}

static void test_cache_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint64_t bytes;
    } cases[] = {{"", 256 << 20}, {"0", 0}, {"1", 1}, {"99999999999", 99999999999}};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CLFORMER_CACHE_BYTES", cases[i].value, 1);
        assert_ok(clf__environment_cache_bytes(&bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
    static const char *const wrong[] = {"-1", "1M", " 1", "all", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("CLFORMER_CACHE_BYTES", wrong[i], 1);
        assert_fails(clf__environment_cache_bytes(&bytes), CLF_BAD_ARGUMENT, wrong[i]);
    }
    unsetenv("CLFORMER_CACHE_BYTES");
    assert_ok(clf__environment_cache_bytes(&bytes));
    assert_int_equal(bytes, 256 << 20);
}

static void test_without(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        unsigned sum;
    } cases[] = {{"", 0},
                 {"subgroups", CLF__WITHOUT_SUBGROUPS},
                 {"barrier,pairs", CLF__WITHOUT_BARRIER | CLF__WITHOUT_PAIRS},
                 {"cache,dot", CLF__WITHOUT_DOT | CLF__WITHOUT_CACHE},
                 {"exact-division,long-groups,dot,dot",
                  CLF__WITHOUT_EXACT_DIVISION | CLF__WITHOUT_LONG_GROUPS | CLF__WITHOUT_DOT}};
    unsigned sum = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CLFORMER_WITHOUT", cases[i].value, 1);
        assert_ok(clf__environment_without(&sum));
        assert_int_equal(sum, cases[i].sum);
    }
    static const char *const wrong[] = {"subgroup", "dot,everything", "dot,", ",dot", "DOT", "dot cache"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("CLFORMER_WITHOUT", wrong[i], 1);
        assert_fails(clf__environment_without(&sum), CLF_BAD_ARGUMENT, wrong[i]);
        assert_non_null(
            strstr(clf_last_error(), "choose from: subgroups, dot, matrix, exact-division, atomics"));
    }
    unsetenv("CLFORMER_WITHOUT");
    assert_ok(clf__environment_without(&sum));
    assert_int_equal(sum, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_cache_folder),
        cmocka_unit_test(test_cache_bytes),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
