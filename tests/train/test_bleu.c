/* BLEU against sacreBLEU: tests/fixtures/bleu. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <clformer/bleu.h>

#include "base/memory.h"
#include "train/bleu_words.h"

enum { MAX_LINES = 4096 };

static json_t *fixture;

static int load(void **state)
{
    (void)state;
    /* Another file of make_bleu.py, such as a whole test set. */
    const char *path = getenv("CLFORMER_TEST_BLEU");
    fixture = json_load_file(path ? path : support_fixture("bleu/cases.json"), 0, NULL);
    assert_non_null(fixture);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    json_decref(fixture);
    return 0;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void check_score(const json_t *lines, const json_t *expected, const char *name)
{
    const char *hypotheses[MAX_LINES], *references[MAX_LINES];
    const json_t *all = json_object_get(lines, "hypotheses");
    int count = (int)json_array_size(all);
    assert_true(count <= MAX_LINES);
    for (int i = 0; i < count; i++) {
        hypotheses[i] = json_string_value(json_array_get(all, (size_t)i));
        references[i] = json_string_value(json_array_get(json_object_get(lines, "references"), (size_t)i));
    }
    clf_bleu_words words = strcmp(json_string_value(json_object_get(expected, "words")), "13a") == 0
                               ? CLF_BLEU_13A
                               : CLF_BLEU_SPACES;
    int lower_case = json_is_true(json_object_get(expected, "lower_case"));
    struct clf_bleu bleu;
    assert_ok(clf_bleu_corpus(&bleu, hypotheses, references, count, words, lower_case));
    int same = fabs(bleu.score - number(expected, "score")) < 1e-9 &&
               fabs(bleu.brevity_penalty - number(expected, "brevity_penalty")) < 1e-12;
    const json_t *lengths = json_object_get(expected, "lengths");
    same &= bleu.hypothesis_words == json_integer_value(json_array_get(lengths, 0));
    same &= bleu.reference_words == json_integer_value(json_array_get(lengths, 1));
    for (size_t i = 0; i < 4; i++) {
        double precision = json_number_value(json_array_get(json_object_get(expected, "precisions"), i));
        same &= fabs(bleu.precisions[i] - precision) < 1e-9;
    }
    if (!same) {
        fail_msg("%s, words %d, lower case %d: %.12g over %lld and %lld words, expected %.12g", name, words,
                 lower_case, bleu.score, (long long)bleu.hypothesis_words, (long long)bleu.reference_words,
                 number(expected, "score"));
    }
}

static void test_scores_are_sacrebleus(void **state)
{
    (void)state;
    size_t i, j;
    json_t *lines, *expected;
    int scores = 0;
    json_array_foreach(json_object_get(fixture, "cases"), i, lines)
    {
        json_array_foreach(json_object_get(lines, "scores"), j, expected)
        {
            check_score(lines, expected, json_string_value(json_object_get(lines, "name")));
            scores++;
        }
    }
    assert_true(scores > 0);
}

static void test_lower_case_is_pythons(void **state)
{
    (void)state;
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(fixture, "lower"), i, pair)
    {
        char *lower;
        assert_ok(clf__lower_case(&lower, json_string_value(json_array_get(pair, 0))));
        assert_string_equal(lower, json_string_value(json_array_get(pair, 1)));
        clf__free(lower);
    }
}

static void test_broken_text_is_named(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "b"}, *const bad[] = {"a", "b \xff"};
    struct clf_bleu bleu;
    assert_fails(clf_bleu_corpus(&bleu, bad, good, 2, CLF_BLEU_13A, 0), CLF_TEXT,
                 "line 2 of the hypotheses: invalid UTF-8 at byte offset 2; convert the text, for example "
                 "with iconv -f WINDOWS-1252 -t UTF-8");
    assert_fails(clf_bleu_corpus(&bleu, good, bad, 2, CLF_BLEU_13A, 0), CLF_TEXT, "line 2 of the references");
    assert_fails(clf_bleu_corpus(&bleu, good, bad, 2, (clf_bleu_words)7, 0), CLF_BAD_ARGUMENT, "kind 7");
    assert_ok(clf_bleu_corpus(&bleu, NULL, NULL, 0, CLF_BLEU_SPACES, 1));
    assert_true(bleu.score == 0);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const lines[] = {"a b c d e.", "A B C"};
    struct clf_bleu bleu;
    clf__memory_fail_at(0);
    assert_ok(clf_bleu_corpus(&bleu, lines, lines, 2, CLF_BLEU_13A, 1));
    uint64_t count = clf__memory_count();
    assert_true(count > 0);
    for (uint64_t n = 1; n <= count; n++) {
        clf__memory_fail_at(n);
        clf_status status = clf_bleu_corpus(&bleu, lines, lines, 2, CLF_BLEU_13A, 1);
        clf__memory_fail_at(0);
        assert_fails(status, CLF_OUT_OF_MEMORY, "memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores_are_sacrebleus),
        cmocka_unit_test(test_lower_case_is_pythons),
        cmocka_unit_test(test_broken_text_is_named),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
