/* The changes of --libretranslate-text. */
#include <string.h>

#include "serve/libretranslate_text.h"
#include "support/support.h"

static void check(const char *source, const char *translation, const char *expected)
{
    json_t *from = json_string(source), *to = json_string(translation);
    json_t *changed = libretranslate_text(from, to);
    if (strcmp(json_string_value(changed), expected) != 0) {
        fail_msg("%s | %s: expected %s, got %s", source, translation, expected, json_string_value(changed));
    }
    json_decref(changed);
    json_decref(to);
    json_decref(from);
}

static void test_punctuation(void **state)
{
    (void)state;
    check("Oui.", "Yes", "Yes.");
    check("Oui!", "Yes.", "Yes!");
    check("Oui ", "Yes.", "Yes");
    check("Oui ?", "Yes?", "Yes?");
    check("Oui.", "Ja。", "Ja.");
    check("はい。", "Yes.", "Yes。");
    check("Oui :", "Yes:", "Yes:");
    check("Oui", "...", "..");
}

static void test_case(void **state)
{
    (void)state;
    check("oui monsieur", "Yes Sir", "yes sir");
    check("OUI MONSIEUR", "Yes Sir", "YES SIR");
    check("Oui monsieur", "yes Sir", "Yes Sir");
    check("oui Monsieur", "Yes Sir", "yes Sir");
    check("été", "ÉTÉ", "été");
    check("Été chaud", "éTÉ", "ÉTÉ");
    check("12 ans", "Years 12", "years 12");
    check("42", "Forty", "Forty");
    check("STRASSE", "straße", "STRASSE");
}

static void test_words(void **state)
{
    (void)state;
    check("Chat", "Cat a cat a", "A"); /* the first word that is repeated */
    check("Chat", "Cat cat dog", "Cat cat dog");
    check("Chat", "Cat Cat Cat", "Cat");
    check("Le chat", "The The cat", "The The cat");
    check("Anticonstitutionnellement", "so so", "So so");
}

static void test_text(void **state)
{
    (void)state;
    check("\n\nOui", "\n\nYes", "Yes");
    check(" \n\t", "x", "");
    check("Oui", "", "Oui");
    check("a\nB", "x\n  Y", "x\n  Y");
}

static void test_references(void **state)
{
    (void)state;
    json_t *source = json_string("A &amp; B"), *translation = json_string("C &amp;\n D");
    json_t *changed = libretranslate_text(source, translation);
#ifdef CLF_HAS_GUMBO
    assert_string_equal(json_string_value(changed), "C &\n D");
#else
    assert_string_equal(json_string_value(changed), "C &amp;\n D");
#endif
    json_decref(changed);
    json_decref(translation);
    json_decref(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_punctuation), cmocka_unit_test(test_case),
                                       cmocka_unit_test(test_words), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_references)};
    return cmocka_run_group_tests(tests, NULL, support_teardown);
}
