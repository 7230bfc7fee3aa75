/* Escaping of control characters in every position and form, and in messages of the library. */
#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/memory.h"
#include "support/support.h"

static const struct {
    const char *text, *shown;
} cases[] = {
    {"", ""},
    {"plain, \ttab and\nnewline", "plain, \ttab and\nnewline"},
    {"\033]0;title\007", "\\x1b]0;title\\x07"},
    {"\033[31m\r\b\177\f\v", "\\x1b[31m\\x0d\\x08\\x7f\\x0c\\x0b"},
    {"é漢字😀\u00a0", "é漢字😀\u00a0"},
    {"\302\200\302\233m\302\237", "\\u0080\\u009bm\\u009f"},
    {"a\u202eb\u202ac\u2066d\u2069", "a\\u202eb\\u202ac\\u2066d\\u2069"},
    {"\u061c\u200e\u200f\u200d\u2028", "\u061c\u200e\u200f\u200d\u2028"}, /* marks that text needs */
    {"\233m\300\200\355\240\200\377", "\\x9bm\\xc0\\x80\\xed\\xa0\\x80\\xff"},
    {"caf\303", "caf\\xc3"},
    {"\360\237\230", "\\xf0\\x9f\\x98"},
    {"\\x1b \\", "\\x1b \\"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void test_texts(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        char shown[256], again[256];
        const char *expected = cases[i].shown;
        size_t size = strlen(cases[i].text), length = strlen(expected);
        assert_int_equal(clf__escape(shown, sizeof shown, cases[i].text, size), length);
        assert_string_equal(shown, expected);
        assert_int_equal(clf__escape(again, sizeof again, shown, length), length);
        assert_string_equal(again, expected);
        assert_int_equal(clf__escape(NULL, 0, cases[i].text, size), length);
    }
    char shown[8];
    assert_int_equal(clf__escape(shown, sizeof shown, "a\0b", 3), 6); /* a NUL is escaped, too */
    assert_string_equal(shown, "a\\x00b");
}

/* A small buffer gets whole characters, and the full length is returned. */
static void test_room(void **state)
{
    (void)state;
    static const char text[] = "a\033é\302\233b", shown[] = "a\\x1bé\\u009bb";
    static const size_t ends[] = {0, 1, 5, 7, 13, 14};
    for (size_t capacity = 1; capacity <= sizeof shown; capacity++) {
        char out[sizeof shown + 1];
        memset(out, 'X', sizeof out);
        assert_int_equal(clf__escape(out, capacity, text, sizeof text - 1), sizeof shown - 1);
        size_t length = strlen(out);
        assert_true(length < capacity);
        assert_memory_equal(out, shown, length);
        int is_end = 0;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            is_end |= length == ends[i];
        }
        assert_true(is_end);
        assert_int_equal(out[capacity], 'X');
    }
}

static void test_failures(void **state)
{
    (void)state;
    assert_fails(clf__fail(CLF_FORMAT, "%s: no", "a\033]0;x\007"), CLF_FORMAT, "a\\x1b]0;x\\x07: no");
    assert_fails(clf__fail_in(CLF_FORMAT, "\033"), CLF_FORMAT, "\\x1b: a\\x1b]0;x\\x07: no");
    /* Escaped text that outgrows the buffer is truncated and marked. */
    char escapes[1500];
    memset(escapes, 033, sizeof escapes - 1);
    escapes[sizeof escapes - 1] = '\0';
    clf__fail(CLF_FORMAT, "%s", escapes);
    size_t length = strlen(clf_last_error());
    assert_true(length > 2000);
    assert_null(strchr(clf_last_error(), 033));
    assert_string_equal(clf_last_error() + length - 3, "...");
}

static char logged[8192];

static void take(clf_log_level level, const char *message, void *user)
{
    (void)user, (void)level;
    snprintf(logged, sizeof logged, "%s", message);
}

static void test_log(void **state)
{
    (void)state;
    char escapes[600];
    memset(escapes, 033, sizeof escapes - 1);
    escapes[sizeof escapes - 1] = '\0';
    clf_log_set(take, NULL);
    clf__log(CLF_LOG_WARNING, "%s\n\ttab", "a\033b");
    assert_string_equal(logged, "a\\x1bb\n\ttab");
    clf__log(CLF_LOG_WARNING, "%s", escapes);
    assert_int_equal(strlen(logged), 4 * (sizeof escapes - 1));
    assert_null(strchr(logged, 033));
    for (uint64_t n = 1; n < 4; n++) { /* without memory, its beginning is returned */
        clf__memory_fail_at(n);
        clf__log(CLF_LOG_WARNING, "%s", escapes);
        clf__memory_fail_at(0);
        assert_null(strchr(logged, 033));
        assert_true(strlen(logged) > 500);
    }
    clf_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests_name("base/escape", tests, NULL, NULL);
}
