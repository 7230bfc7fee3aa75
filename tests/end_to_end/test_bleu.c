/* `clformer bleu` gives the scores of sacreBLEU 2.5 on the same lines. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "support/process.h"

static const char references[] = "The cat is asleep on the table.\n"
                                 "I don't understand what you say.\n"
                                 "He gave 1,000.50 dollars to \"them\".\n";
static const char translations[] = "The cat sleeps on the table.\n"
                                   "I do not understand what you say .\n"
                                   "He GAVE 1,000.50 dollars to \"them\"."; /* no newline at the end */

static struct process_result bleu(const char *input, const char *flags)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "references", references, sizeof references - 1);
    return run_clformer(input, process_format("bleu %s/references %s", folder, flags));
}

static void test_text(void **state)
{
    (void)state;
    struct process_result result = bleu(translations, "");
    assert_output(result, "61.60  83.3/66.7/55.6/46.7  brevity penalty 1.000  24 words for 24\n");
    result = bleu(references, "--words spaces");
    assert_output(result, "100.00  100.0/100.0/100.0/100.0  brevity penalty 1.000  19 words for 19\n");
}

static void check_score(const char *flags, double expected)
{
    struct process_result result = bleu(translations, process_format("--json %s", flags));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 1);
    json_t *object = json_loads(result.output, 0, NULL);
    assert_non_null(object);
    assert_true(fabs(json_number_value(json_object_get(object, "bleu")) - expected) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(object, "precisions")), 4);
    assert_true(json_is_integer(json_object_get(object, "hypothesis_words")));
    json_decref(object);
}

static void test_json(void **state)
{
    (void)state;
    check_score("", 61.604926348104726);
    check_score("--lower-case", 71.86082239261687);
    check_score("--words spaces", 30.41372354917696);
}

static void test_bad_input(void **state)
{
    (void)state;
    struct process_result result = bleu("one\ntwo\n", "");
    assert_refused(result, 1, "standard input has 2 lines, but");
    result = bleu("1\n2\n3\n4\n", "");
    assert_refused(result, 1, "standard input has 4 lines, but");
    result = bleu("", "");
    assert_refused(result, 1, "standard input has 0 lines");
    result = bleu("1\n\xff\n3\n", "");
    assert_refused(result, 1,
                   "clformer: standard input, line 2: invalid UTF-8 at byte offset 0; convert the text, for "
                   "example with iconv -f WINDOWS-1252 -t UTF-8\n");
    struct process process = {.input = "1\n2\na\0b\n", .input_size = 8};
    const char *folder = support_temporary_folder();
    process_write(folder, "references", references, sizeof references - 1);
    result = process_run(&process, process_format("bleu %s/references", folder));
    assert_refused(result, 1, "standard input, line 3: contains a NUL byte");
    result = run_clformer("", "bleu /dev/null");
    assert_refused(result, 1, "are empty");
}

static void test_bad_calls(void **state)
{
    (void)state;
    struct process_result result = run_clformer("a\n", "bleu");
    assert_refused(result, 2, "one file of references");
    result = run_clformer("a\n", "bleu one two");
    assert_refused(result, 2, "2 arguments");
    result = run_clformer("a\n", "bleu --words intl file");
    assert_refused(result, 2, "--words: must be 13a|spaces");
    result = run_clformer("a\n", "bleu /no/such/file");
    assert_refused(result, 1, "/no/such/file");
    result = run_clformer("a\n", "bleu --help");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "| clformer bleu test.de"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_text, support_teardown),
        cmocka_unit_test_teardown(test_json, support_teardown),
        cmocka_unit_test_teardown(test_bad_input, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
