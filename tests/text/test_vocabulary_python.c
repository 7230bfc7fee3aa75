/* Vocabularies written by Python's json module: seven tokens of M2M100 consist of NUL characters. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "text/tokenizers/vocabulary.h"

static void test_tokens_stay_apart(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": 0, \"\\u0000\": 3, \"\\u0000\\u0000\": 1, \"\": 2, \"\\ud83d\": 4,"
                               " \"\\ude00\": 6, \"\\ud83d\\ude00\": 5}";
    char path[256];
    snprintf(path, sizeof path, "%s", support_temporary_path("vocab.json"));
    assert_ok(clf__file_write(path, text, strlen(text)));
    struct clf__vocabulary vocabulary = {.size = 0};
    assert_ok(clf__vocabulary_load(&vocabulary, path, 7));
    assert_int_equal(vocabulary.size, 7);
    assert_int_equal(clf__vocabulary_id(&vocabulary, "a", 1), 0);
    assert_int_equal(clf__vocabulary_id(&vocabulary, "", 0), 2);
    assert_int_equal(clf__vocabulary_id(&vocabulary, "\U0001F600", 4), 5);
    clf__vocabulary_free(&vocabulary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tokens_stay_apart, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
