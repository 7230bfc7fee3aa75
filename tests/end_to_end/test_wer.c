/* `clformer wer` */
#include <string.h>

#include "support/process.h"

static const char references[] = "one two three\nfour five\n";

static struct process_result wer(const char *input, const char *flags)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "references", references, sizeof references - 1);
    return run_clformer(input, process_format("wer %s/references %s", folder, flags));
}

static void check_output(const char *input, const char *flags, const char *expected)
{
    struct process_result result = wer(input, flags);
    assert_output(result, expected);
}

static void check_refused(struct process_result result, int status, const char *words)
{
    assert_refused(result, status, words);
}

static void test_text(void **state)
{
    (void)state;
    check_output("one three\nFour five six\n", "", "60.00  1 substituted, 1 deleted, 1 inserted  5 words\n");
    check_output("one three\nFour five six\n", "--lower-case",
                 "40.00  0 substituted, 1 deleted, 1 inserted  5 words\n");
    struct process_result result = wer("one two\nfour five", "--json");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "\"wer\":20.0"));
    assert_non_null(strstr(result.output, "\"reference_words\":5"));
}

static void test_refused(void **state)
{
    (void)state;
    check_refused(wer("one\n", ""), 1, "standard input has 1 line");
    check_refused(wer("one\n\xff\n", ""), 1, "standard input, line 2: invalid UTF-8 at byte offset 0");
    const char *folder = support_temporary_folder();
    process_write(folder, "latin", "one\ncaf\xe9\n", 9);
    check_refused(run_clformer("one\ntwo\n", process_format("wer %s/latin", folder)), 1,
                  process_format("%s/latin, line 2: invalid UTF-8 at byte offset 3; convert the text, for "
                                 "example with iconv -f WINDOWS-1252 -t UTF-8",
                                 folder));
    check_refused(run_clformer("a\n", "wer"), 2, "one file of references");
    check_refused(run_clformer("a\n", "wer --words 13a file"), 2, "--words");
    check_refused(run_clformer("a\n", "wer /no/such/file"), 1, "/no/such/file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_text, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
