/* Glossaries: the file, and the terms that are found in lines. */
#include "text/glossary/glossary.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "support/support.h"

static struct clf_glossary *parse(const char *text)
{
    struct clf_glossary *glossary;
    assert_ok(clf__glossary_parse(&glossary, text, strlen(text), "terms.tsv"));
    return glossary;
}

/* The targets in `wanted` are separated by "|". */
static void check_found(const struct clf_glossary *glossary, const char *line, const char *wanted)
{
    struct clf__targets found;
    char joined[512] = "";
    assert_ok(clf__glossary_find(&found, glossary, line, strlen(line)));
    for (int i = 0; i < found.count; i++) {
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i > 0 ? "|" : "",
                 found.items[i]);
    }
    clf__targets_free(&found);
    if (strcmp(joined, wanted) != 0) {
        fail_msg("%s: expected %s, found %s", line, wanted, joined);
    }
}

static void test_words(void **state)
{
    (void)state;
    struct clf_glossary *glossary = parse("# terms\n"
                                          "bank\tbanque\n"
                                          "\r\n"
                                          "bank account\tcompte bancaire\r\n"
                                          "account manager\tgestionnaire\n"
                                          "caf\xc3\xa9\tcoffee house\n"
                                          "C++\tC++\n");
    assert_int_equal(clf_glossary_count(glossary), 5);
    check_found(glossary, "", "");
    check_found(glossary, "the bank", "banque");
    check_found(glossary, "banks, bankrupt, embank", "");
    check_found(glossary, "a (bank), l'bank, bank's, e-bank", "banque|banque|banque|banque");
    check_found(glossary, "a bank account", "compte bancaire");            /* the longest term */
    check_found(glossary, "a bank account manager", "compte bancaire");    /* from left to right */
    check_found(glossary, "a bank\t \xc2\xa0 account", "compte bancaire"); /* any white space */
    check_found(glossary, "un cafe\xcc\x81", "coffee house");              /* decomposed */
    check_found(glossary, "un cafe", "");
    check_found(glossary, "in C++, bank", "C++|banque");
    clf_glossary_free(glossary);
}

static void test_case(void **state)
{
    (void)state;
    struct clf_glossary *glossary = parse("apple\tpomme\n"
                                          "Apple\tApple\tcase\n"
                                          "\xc3\xa9tat\tstate\n"
                                          "IT\tinformatique\t case \n"
                                          "haus\thouse\n"
                                          "ipad\tiPad\n");
    check_found(glossary, "an apple, APPLE and Apple", "pomme|pomme|Apple");
    check_found(glossary, "it is IT", "informatique");
    check_found(glossary, "un \xc3\x89TAT", "state");
    /* The first word of a sentence. */
    check_found(glossary, "Haus und Haus", "House|house");
    check_found(glossary, "\"Haus\"", "House");
    check_found(glossary, "haus", "house");
    check_found(glossary, "Ja. Haus! Haus? HAUS", "House|House|House");
    check_found(glossary, "\xc3\x89tat, \xc3\x89tat", "State|state");
    check_found(glossary, "Ipad", "iPad");
    clf_glossary_free(glossary);
}

static void test_scripts_without_spaces(void **state)
{
    (void)state;
    struct clf_glossary *glossary = parse("\xe7\x94\xb5\xe8\x84\x91\tcomputer\n"         /* 电脑 */
                                          "\xe7\x94\xb5\telectricity\n"                  /* 电 */
                                          "\xe3\x83\x91\xe3\x82\xbd\tPC\n"               /* パソ */
                                          "\xe0\xb8\x9b\xe0\xb8\xa5\xe0\xb8\xb2\tfish\n" /* ปลา */
                                          "PC\tdesktop\n");
    check_found(glossary, "\xe6\x88\x91\xe7\x9a\x84\xe7\x94\xb5\xe8\x84\x91\xe7\x94\xb5",
                "computer|electricity");
    check_found(glossary, "\xe3\x83\x91\xe3\x82\xbd\xe3\x82\xb3\xe3\x83\xb3", "PC");
    check_found(glossary, "\xe0\xb8\x81\xe0\xb8\xb4\xe0\xb8\x99\xe0\xb8\x9b\xe0\xb8\xa5\xe0\xb8\xb2", "fish");
    check_found(glossary, "PC\xe7\x94\xb5\xe8\x84\x91", "Desktop|computer");
    clf_glossary_free(glossary);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\tb\nc\n", "terms.tsv:2: has no tab; write a source term, a tab and a target term"},
        {"\n\n\tb\n", "terms.tsv:3: the source term is empty"},
        {"a\t \n", "terms.tsv:1: the target term is empty"},
        {"a\tb\tcase\tx\n", "terms.tsv:1: has more than 3 columns"},
        {"a\tb\tCase\n", "terms.tsv:1: unknown flag \"Case\""},
        {"a\tb\nc\td\nA\te\n", "terms.tsv:3: its source term is also in line 1, with the target \"b\""},
        {"a\tb\tcase\na\tb\tcase\n", "terms.tsv:2: its source term is also in line 1"},
        {"a\tb\n\xff\tc\n", "terms.tsv:2: is not valid UTF-8"},
        {"\xff\xfe"
         "a",
         "terms.tsv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_glossary *glossary;
        clf_status status = clf__glossary_parse(&glossary, cases[i].text, strlen(cases[i].text), "terms.tsv");
        assert_true(status == CLF_FORMAT || status == CLF_TEXT);
        assert_null(glossary);
        if (strstr(clf_last_error(), cases[i].message) == NULL) {
            fail_msg("expected %s, got %s", cases[i].message, clf_last_error());
        }
    }
    struct clf_glossary *glossary;
    assert_fails(clf__glossary_parse(&glossary, "a\tb\nc\td\0\n", 9, "terms.tsv"), CLF_FORMAT,
                 "terms.tsv:2: contains a NUL byte");
    assert_int_equal(clf_glossary_load(&glossary, "/nonexistent.tsv"), CLF_FILE);
    assert_int_equal(clf_glossary_load(&glossary, NULL), CLF_BAD_ARGUMENT);
    glossary = parse("a\tb\nA\tc\tcase\n"); /* the same term with and without the flag */
    check_found(glossary, "x a A", "b|c");
    clf_glossary_free(glossary);
    glossary = parse("");
    check_found(glossary, "a", "");
    clf__glossary_keep(glossary);
    clf_glossary_free(glossary);
    assert_int_equal(clf_glossary_count(glossary), 0); /* kept */
    clf_glossary_free(glossary);
    clf_glossary_free(NULL);
}

/* Every allocation may fail. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char text[] = "bank\tbanque\nApple\tpomme\tcase\n", line[] = "An Apple in the bank";
    uint64_t n = 1;
    for (int is_over = 0; !is_over; n++) {
        struct clf_glossary *glossary = NULL;
        struct clf__targets found = {.count = 0};
        clf__memory_fail_at(n);
        clf_status status = clf__glossary_parse(&glossary, text, strlen(text), "terms.tsv");
        if (status == CLF_OK) {
            status = clf__glossary_find(&found, glossary, line, strlen(line));
        }
        clf__memory_fail_at(0);
        is_over = status == CLF_OK;
        assert_true(is_over || status == CLF_OUT_OF_MEMORY);
        clf__targets_free(&found);
        clf_glossary_free(glossary);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_case),
        cmocka_unit_test(test_scripts_without_spaces),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("text/glossary", tests, NULL, NULL);
}
