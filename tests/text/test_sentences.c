/* Where sentences end: ICU's rules with a language's abbreviations, and the quick look for a warning. */
#include "support/support.h"

#include <string.h>

#include "base/memory.h"
#include "text/sentences.h"

static void check(const char *language, const char *text, const char *const *expected, int count)
{
    struct clf__sentence_rules *rules;
    struct clf__part_list parts = {.count = 0};
    assert_ok(clf__sentence_rules_open(&rules, language));
    assert_ok(clf__sentences_find(rules, &parts, text, strlen(text)));
    assert_int_equal(parts.count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(parts.items[i].size, strlen(expected[i]));
        assert_memory_equal(text + parts.items[i].start, expected[i], parts.items[i].size);
    }
    clf__part_list_free(&parts);
    clf__sentence_rules_free(rules);
}
#define CHECK(language, text, ...)                                                                           \
    do {                                                                                                     \
        static const char *const expected[] = {__VA_ARGS__};                                                 \
        check(language, text, expected, sizeof expected / sizeof *expected);                                 \
    } while (0)

static void test_sentences(void **state)
{
    (void)state;
    CHECK("en", "  One.  Two! \"Three?\" Four ", "One.", "Two!", "\"Three?\"", "Four");
    CHECK("eng_Latn", "Mr. Smith left. He is 3.5 m tall.", "Mr. Smith left.", "He is 3.5 m tall.");
    CHECK("fr_XX", "M. Dupont est là. Où ?", "M. Dupont est là.", "Où ?");
    CHECK("zh", "你好。再见。", "你好。", "再见。");
    CHECK(NULL, "a\n\nb\nc", "a", "b", "c");
    CHECK("no-code-that-is-known-anywhere-at-all", "A b. C d.", "A b.", "C d.");
    check("en", " \t\xc2\xa0\n", NULL, 0);
    check("en", "", NULL, 0);
}

static void test_several(void **state)
{
    (void)state;
    static const char *const several[] = {"He left. She stayed.", "Where? There.", "Stop! Now", "Merci. Été.",
                                          "\xe4\xbd\xa0\xe5\xa5\xbd\xe3\x80\x82\xe5\x86\x8d\xe8\xa7\x81"};
    static const char *const one[] = {
        "",           "a",          ".",      "Mr. Smith left.", "It is 3.5 m. tall",       "etc. etc.",
        "One... two", "Wait... No", "left. ", "left. a",         "\xe5\xa5\xbd\xe3\x80\x82"};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        if (!clf__sentences_are_several(several[i], strlen(several[i]))) {
            fail_msg("%s", several[i]);
        }
    }
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        if (clf__sentences_are_several(one[i], strlen(one[i]))) {
            fail_msg("%s", one[i]);
        }
    }
}

static void test_trim(void **state)
{
    (void)state;
    const char *text = " a\xc2\xa0 b\xe3\x80\x80";
    struct clf__part part = clf__part_trim(text, 0, strlen(text));
    assert_true(part.start == 1 && part.size == 5);
    part = clf__part_trim(text, 2, 5);
    assert_int_equal(part.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_trim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
