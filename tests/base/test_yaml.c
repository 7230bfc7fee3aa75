/* YAML as in Marian's files. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/yaml.h"
#include "support/support.h"

enum { MOST_VALUES = 1000 };

static void test_values(void **state)
{
    (void)state;
    static const char text[] = "%TAG !a! tag:b\n--- \na: 1\nlist:\n  - b\n  - 'c d'\n";
    json_t *root = NULL;
    assert_ok(clf__yaml_parse(&root, text, strlen(text), "a.yml", MOST_VALUES));
    assert_string_equal(json_string_value(json_object_get(root, "a")), "1");
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "list"), 1)), "c d");
    json_decref(root);
}

/* Reading them would take quadratic time. */
static void test_many_directives(void **state)
{
    (void)state;
    enum { COUNT = 5000, MOST_BYTES = 24 };
    for (int wide = 0; wide < 2; wide++) {
        char *text = support_array(COUNT * MOST_BYTES * 2, 1), line[MOST_BYTES];
        size_t size = 0;
        for (int i = 0; i < COUNT; i++) {
            int length = snprintf(line, sizeof line, "%%TAG !%x! b\n", (unsigned)i);
            for (int k = 0; k < length; k++) {
                text[size] = line[k];
                size += 1 + (size_t)wide; /* UTF-16 */
            }
        }
        json_t *root = NULL;
        assert_int_equal(clf__yaml_parse(&root, text, size, "tags.yml", MOST_VALUES), CLF_FORMAT);
        assert_null(root);
        assert_non_null(strstr(clf_last_error(), "tags.yml: has 5000 %TAG directives"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values, support_teardown),
        cmocka_unit_test_teardown(test_many_directives, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
