/* Words and characters. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "text/split.h"

/* Pieces with a stroke after each. */
static clf_status add(void *user, const char *piece, size_t length)
{
    char *text = user;
    size_t used = strlen(text);
    memcpy(text + used, piece, length);
    strcpy(text + used + length, "/");
    return CLF_OK;
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } cases[] = {
        {"", 0, ""},
        {" \t\r\n\v\f", 6, ""},
        {"a", 1, "a/"},
        {" ab  c\0d\n", 9, "ab/c/d/"},
        {"\u00e9\u00a0x y", 7, "\u00e9\u00a0x/y/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[64] = "";
        assert_ok(clf__split_words(cases[i].text, cases[i].size, add, words));
        assert_string_equal(words, cases[i].words);
    }
}

static void test_characters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"  ", ""},
        {" ab  c ", "a/b/|/c/"},
        {"\u00e9\u65e5\U0001F600 x", "\u00e9/\u65e5/\U0001F600/|/x/"},
        {"a|b", "a/|/b/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char characters[64] = "";
        assert_ok(clf__split_characters(cases[i][0], strlen(cases[i][0]), "|", add, characters));
        assert_string_equal(characters, cases[i][1]);
    }
}

static clf_status fail_at_b(void *user, const char *piece, size_t length)
{
    (void)length;
    ++*(int *)user;
    return *piece == 'b' ? CLF_INTERRUPTED : CLF_OK;
}

static void test_a_failure_ends_it(void **state)
{
    (void)state;
    int calls = 0;
    assert_int_equal(clf__split_words("a b c", 5, fail_at_b, &calls), CLF_INTERRUPTED);
    assert_int_equal(calls, 2);
    calls = 0;
    assert_int_equal(clf__split_characters("a bc", 4, "|", fail_at_b, &calls), CLF_INTERRUPTED);
    assert_int_equal(calls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_a_failure_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
