/* The word error rate against jiwer (tests/fixtures/wer) and hand calculations. */
#include "support/support.h"

#include <math.h>

#include <jansson.h>

#include <clformer/wer.h>

enum { MAX_LINES = 16 };

static void test_cases(void **state)
{
    (void)state;
    json_t *cases = json_load_file(support_fixture("wer/cases.json"), 0, NULL), *its;
    size_t index, line;
    assert_true(json_array_size(cases) > 10);
    json_array_foreach(cases, index, its)
    {
        const char *hypotheses[MAX_LINES], *references[MAX_LINES];
        json_t *text;
        json_array_foreach(json_object_get(its, "references"), line, text)
        {
            references[line] = json_string_value(text);
            hypotheses[line] = json_string_value(json_array_get(json_object_get(its, "hypotheses"), line));
        }
        struct clf_wer wer;
        assert_ok(clf_wer_corpus(&wer, hypotheses, references, (int)line, 0));
        assert_true(fabs(wer.score - 100 * json_number_value(json_object_get(its, "wer"))) < 1e-9);
        assert_int_equal(wer.substitutions + wer.deletions + wer.insertions,
                         json_integer_value(json_object_get(its, "errors")));
        assert_int_equal(wer.reference_words, json_integer_value(json_object_get(its, "words")));
    }
    json_decref(cases);
}

static void check(const char *hypothesis, const char *reference, int lower_case,
                  const struct clf_wer *expected)
{
    struct clf_wer wer;
    assert_ok(clf_wer_corpus(&wer, &hypothesis, &reference, 1, lower_case));
    assert_int_equal(wer.substitutions, expected->substitutions);
    assert_int_equal(wer.deletions, expected->deletions);
    assert_int_equal(wer.insertions, expected->insertions);
    assert_int_equal(wer.reference_words, expected->reference_words);
    assert_true(fabs(wer.score - expected->score) < 1e-9);
}

static void test_kinds(void **state)
{
    (void)state;
    check("a b c", "a b c", 0, &(struct clf_wer){0, 0, 0, 0, 3});
    check(" a\t x  c ", "a b c d", 0, &(struct clf_wer){50, 1, 1, 0, 4});
    check("a b b c", "a b c", 0, &(struct clf_wer){100.0 / 3, 0, 0, 1, 3});
    check("", "a b", 0, &(struct clf_wer){100, 0, 2, 0, 2});
    check("x y z", "a", 0, &(struct clf_wer){300, 1, 0, 2, 1});
    check("b c", "a b", 0, &(struct clf_wer){100, 2, 0, 0, 2}); /* not one deletion and one insertion */
    check("A \xc3\x89T\xc3\x89", "a \xc3\xa9t\xc3\xa9", 0, &(struct clf_wer){100, 2, 0, 0, 2});
    check("A \xc3\x89T\xc3\x89", "a \xc3\xa9t\xc3\xa9", 1, &(struct clf_wer){0, 0, 0, 0, 2});
}

static void test_wrong(void **state)
{
    (void)state;
    struct clf_wer wer;
    const char *const lines[] = {"a", "b"}, *const gap[] = {"a", NULL}, *const torn[] = {"a", "b\xff"};
    const char *const empty[] = {"", " "};
    assert_fails(clf_wer_corpus(&wer, NULL, NULL, -1, 0), CLF_BAD_ARGUMENT, "line count -1");
    assert_fails(clf_wer_corpus(&wer, NULL, lines, 2, 0), CLF_BAD_ARGUMENT, "line 1 of the hypotheses");
    assert_fails(clf_wer_corpus(&wer, lines, gap, 2, 0), CLF_BAD_ARGUMENT, "line 2 of the references");
    assert_fails(clf_wer_corpus(&wer, torn, lines, 2, 0), CLF_TEXT, "line 2 of the hypotheses");
    assert_fails(clf_wer_corpus(&wer, lines, empty, 2, 0), CLF_TEXT, "no word");
    assert_fails(clf_wer_corpus(&wer, NULL, NULL, 0, 0), CLF_TEXT, "no word");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_cases, support_teardown),
        cmocka_unit_test_teardown(test_kinds, support_teardown),
        cmocka_unit_test_teardown(test_wrong, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
