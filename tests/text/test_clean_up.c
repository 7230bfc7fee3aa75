/* Clean-up of joined text, as in Python. */
#include "support/support.h"

#include <string.h>

#include "text/tokenizers/clean_up.h"

struct row {
    const char *before, *after;
};

static void check(void (*change)(char *), const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(rows[i].before) + 1;
        char *text = support_array(size, 1);
        memcpy(text, rows[i].before, size);
        change(text);
        assert_string_equal(text, rows[i].after);
    }
}

static void test_strip(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", ""},
        {" ", ""},
        {"a", "a"},
        {"  a  b  ", "a  b"},
        {"\u2581a\u2581\u2581b\u2581", "a  b"},
        {"\t\n\v\f\r\x1c\x1d\x1e\x1f a", "a"},
        {"a\xc2\x85\u00a0\u1680\u2000\u2004\u200a\u2028\u2029\u202f\u205f\u3000", "a"},
        {"\u3000\u2581\u00a0", ""},
        {"\u200ba\u200b", "\u200ba\u200b"}, /* not white space in Python */
        {"\u00e9\u00e0", "\u00e9\u00e0"},
    };
    check(clf__text_strip, rows, sizeof rows / sizeof *rows);
}

static void test_clean_up(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", ""},
        {"a , b . c ? d !", "a, b. c? d!"},
        {"I do n't know it 's I 'm we 've you 're", "I don't know it's I'm we've you're"},
        {"a ' b", "a'b"},
        {"a ' ' b", "a'' b"}, /* left to right, each space is used once */
        {" . . ", ".. "},
        {"a  .", "a ."},
        {"nothing here", "nothing here"},
    };
    check(clf__text_clean_up, rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_strip, support_teardown),
        cmocka_unit_test_teardown(test_clean_up, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
