/* Tables of valid and invalid UTF-8, and every code point. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct row {
    const char *text;
    size_t size, valid;
};

#define ROW(text, valid)                                                                                     \
    {                                                                                                        \
        text, sizeof text - 1, valid                                                                         \
    }

static void test_table(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("", 0),
        ROW("plain", 5),
        ROW("a\0b", 3),
        ROW("\x7f", 1),
        ROW("\xc2\x80", 2),
        ROW("\xdf\xbf", 2),
        ROW("\xe0\xa0\x80", 3),
        ROW("\xed\x9f\xbf", 3),
        ROW("\xee\x80\x80", 3),
        ROW("\xef\xbf\xbf", 3),
        ROW("\xf0\x90\x80\x80", 4),
        ROW("\xf4\x8f\xbf\xbf", 4),
        /* continuation bytes without a start, bytes that never occur */
        ROW("ab\x80", 2),
        ROW("\xbf", 0),
        ROW("a\xfe", 1),
        ROW("a\xff", 1),
        ROW("\xf5\x80\x80\x80", 0),
        ROW("\xf8\x88\x80\x80\x80", 0),
        /* overlong */
        ROW("\xc0\x80", 0),
        ROW("\xc1\xbf", 0),
        ROW("\xe0\x80\x80", 0),
        ROW("\xe0\x9f\xbf", 0),
        ROW("\xf0\x80\x80\x80", 0),
        ROW("\xf0\x8f\xbf\xbf", 0),
        /* surrogates, above U+10FFFF */
        ROW("x\xed\xa0\x80", 1),
        ROW("x\xed\xbf\xbf", 1),
        ROW("\xf4\x90\x80\x80", 0),
        /* truncated at the end, or by another character */
        ROW("ab\xc3", 2),
        ROW("ab\xe2\x82", 2),
        ROW("ab\xf0\x9f\x98", 2),
        ROW("\xc3(", 0),
        ROW("\xe2\x82(", 0),
        ROW("\xf0\x9f\x98(", 0),
        ROW("\xe2\x82\xacok\xe2(", 5),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* In a memory block of exactly its size, so that a sanitizer detects reads beyond it. */
        char *exact = malloc(rows[i].size + (rows[i].size == 0));
        assert_non_null(exact);
        memcpy(exact, rows[i].text, rows[i].size);
        assert_int_equal(clf__utf8_valid_prefix(exact, rows[i].size), rows[i].valid);
        free(exact);
    }
}

static size_t write_code_point(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    static const int marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(marks[length] | (int)c);
    return length;
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        char text[4];
        size_t size = write_code_point(text, c);
        int valid = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        if (clf__utf8_valid_prefix(text, size) != (valid ? size : 0)) {
            fail_msg("U+%04X", (unsigned)c);
        }
        for (size_t cut = 0; cut <= size && valid; cut++) {
            if (clf__utf8_cut(text, cut) != (cut == size ? size : 0)) {
                fail_msg("U+%04X cut at %zu", (unsigned)c, cut);
            }
        }
    }
}

static void test_cut(void **state)
{
    (void)state;
    const char *text = "a\u00e9\u20ac\U0001F600z"; /* starts at 0, 1, 3, 6, 10 */
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t size = 0; size <= strlen(text); size++) {
        assert_int_equal(clf__utf8_cut(text, size), expected[size]);
    }
    /* Invalid UTF-8 is cut at the requested position. */
    assert_int_equal(clf__utf8_cut("\x80\x80\x80\x80\x80", 5), 5);
    assert_int_equal(clf__utf8_cut("a\xff", 2), 2);
    assert_int_equal(clf__utf8_cut("\x80\x80", 2), 2);
}

/* The message gives the position and a remedy. */
static void test_check(void **state)
{
    (void)state;
    assert_ok(clf__utf8_check("", 0));
    assert_ok(clf__utf8_check("a\0\xc3\xa9", 4));
    assert_fails(
        clf__utf8_check("caf\xe9", 4), CLF_TEXT,
        "invalid UTF-8 at byte offset 3; convert the text, for example with iconv -f WINDOWS-1252 -t UTF-8");
    assert_ok(clf__utf8_check("caf\xe9", 3));
    static const struct {
        const char *text, *name;
        size_t size;
    } texts[] = {
        {"\xff\xfeJ\0e\0", "UTF-16", 6},      {"\xfe\xff\0J\0e", "UTF-16", 6}, {"\xff\xfe", "UTF-16", 2},
        {"\xff\xfe\0\0J\0\0\0", "UTF-32", 8}, {"J\0e\0 \0s\0", "UTF-16", 8},   {"\0J\0e\0 \0s", "UTF-16", 8},
        {"\0d\0\xe9\0j\0\xe0", "UTF-16", 8},  {"\xff\xfeK0\x93", "UTF-16", 5},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char sentence[128];
        snprintf(sentence, sizeof sentence,
                 "the text is in %s, not UTF-8; convert it with iconv -f %s -t UTF-8", texts[i].name,
                 texts[i].name);
        assert_fails(clf__utf8_check(texts[i].text, texts[i].size), CLF_TEXT, sentence);
    }
    assert_null(clf__utf16_name("a\0b\0\0\0", 6)); /* zeros anywhere are a different text */
    assert_null(clf__utf16_name("plain", 5));
    assert_null(clf__utf16_name("", 0));
}

/* Files as iconv writes them: "Oui.\nNon.\n", "Да, да.\n" and "你好。\n謝謝。\n" in UTF-16. */
static void test_start(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name; /* NULL: no UTF-16 */
        size_t size;
    } texts[] = {
        {"O\0u\0i\0.\0\n\0N\0o\0n\0.\0\n\0", "UTF-16LE", 20},
        {"\0O\0u\0i\0.\0\n\0N\0o\0n\0.\0\n", "UTF-16BE", 20},
        {"\xff\xfeO\0u\0i\0", "UTF-16", 8},
        {"\xfe\xff\0O\0u\0i", "UTF-16", 8},
        {"\x14\x04\x30\x04,\0 \0\x34\x04\x30\x04.\0\n\0", "UTF-16LE", 16},
        {"\x4f\x60\x59\x7d\x30\x02\0\n\x8b\x1d\x8b\x1d\x30\x02\0\n", "UTF-16BE", 16},
        {"Merci\0 beaucoup.\n", NULL, 17},        /* UTF-8 with a NUL byte */
        {"a\0\xc3\xa9t\xc3\xa9\n\0\n", NULL, 10}, /* with two */
        {"caf\xe9 noir\n", NULL, 10},             /* Latin-1 */
        {"\x01\x02\x03\0\x05\x06\x07\x08", NULL, 8},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].name == NULL) {
            assert_ok(clf__utf8_check_start("a.txt", texts[i].text, texts[i].size));
            continue;
        }
        char sentence[128];
        snprintf(sentence, sizeof sentence,
                 "a.txt: is in %s, not UTF-8; convert it with iconv -f %s -t UTF-8", texts[i].name,
                 texts[i].name);
        assert_fails(clf__utf8_check_start("a.txt", texts[i].text, texts[i].size), CLF_TEXT, sentence);
    }
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(clf__utf8_count("", 0), 0);
    assert_int_equal(clf__utf8_count("abc", 2), 2);
    assert_int_equal(clf__utf8_count("\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82!", 10), 4); /* é, €, a smile, ! */
}

static void test_mark(void **state)
{
    (void)state;
    assert_int_equal(clf__utf8_mark("\xef\xbb\xbf"
                                    "a",
                                    4),
                     3);
    assert_int_equal(clf__utf8_mark("\xef\xbb\xbf", 3), 3);
    assert_int_equal(clf__utf8_mark("\xef\xbb\xbf", 2), 0);
    assert_int_equal(clf__utf8_mark("a\xef\xbb\xbf", 4), 0);
    assert_int_equal(clf__utf8_mark("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_check),
        cmocka_unit_test(test_start), cmocka_unit_test(test_count),
        cmocka_unit_test(test_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
