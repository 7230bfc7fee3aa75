/* Lines that arrive one by one are answered one by one; lines of a file are batched. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " --quiet "

static void assert_answer(struct coprocess *coprocess, const char *line, const char *answer)
{
    coprocess_write(coprocess, line);
    assert_string_equal(coprocess_read_line(coprocess), answer);
}

/* Each line's answer arrives before the next line is written. */
static void test_translate(void **state)
{
    (void)state;
    struct coprocess coprocess = coprocess_start(TRANSLATE);
    assert_answer(&coprocess, "Merci.\n", "Thanks.\n");
    assert_answer(&coprocess, "\n", "\n");
    assert_answer(&coprocess, "Merci beaucoup.\r\n", "Thank you very much.\n");
    assert_answer(&coprocess, "Oui.\nMerci.\nMerci beau", "Yes.\n"); /* two lines, and a part of one */
    assert_string_equal(coprocess_read_line(&coprocess), "Thanks.\n");
    assert_answer(&coprocess, "coup.\n", "Thank you very much.\n");
    assert_int_equal(coprocess_end(&coprocess), 0);
}

static void test_tokens_and_json(void **state)
{
    (void)state;
    struct coprocess coprocess = coprocess_start(TRANSLATE "--tokens");
    for (int i = 0; i < 2; i++) {
        assert_answer(&coprocess, "▁Je ▁suis ▁étudiant\n", "▁I ' m ▁a ▁student .\n");
    }
    assert_int_equal(coprocess_end(&coprocess), 0);
    coprocess = coprocess_start(TRANSLATE "--json");
    for (int i = 0; i < 2; i++) {
        coprocess_write(&coprocess, "Merci.\n");
        assert_non_null(strstr(coprocess_read_line(&coprocess), "\"text\":\"Thanks.\""));
    }
    assert_int_equal(coprocess_end(&coprocess), 0);
}

/* Either side of score may be the pipe; a line is ready when both sides are. */
static void test_score(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "fr", "Merci.\nOui.\n", 12);
    process_write(folder, "en", "Thanks.\nYes.\n", 13);
    struct process_result wanted =
        run_clformer(NULL, process_format("score -m " DEMO_MODEL " %s/fr %s/en", folder, folder));
    assert_int_equal(wanted.status, 0);
    const char *second = strchr(wanted.output, '\n') + 1;
    char *first = process_format("%.*s", (int)(second - wanted.output), wanted.output);
    struct coprocess coprocess =
        coprocess_start(process_format("score -q -m " DEMO_MODEL " %s/fr -", folder));
    assert_answer(&coprocess, "Thanks.\n", first);
    assert_answer(&coprocess, "Yes.\n", second);
    assert_int_equal(coprocess_end(&coprocess), 0);
    coprocess = coprocess_start(process_format("score -q -m " DEMO_MODEL " - %s/en", folder));
    assert_answer(&coprocess, "Merci.\n", first);
    assert_answer(&coprocess, "Oui.\n", second);
    assert_int_equal(coprocess_end(&coprocess), 0);
}

/* `clformer translate | head -1`: the reader exits early. */
static void test_reader_leaves(void **state)
{
    (void)state;
    struct coprocess coprocess = coprocess_start(TRANSLATE);
    assert_answer(&coprocess, "Merci.\n", "Thanks.\n");
    coprocess_close_output(&coprocess);
    coprocess_write(&coprocess, "Merci.\n");
    assert_int_equal(coprocess_end(&coprocess), 128 + SIGPIPE);
    assert_string_equal(coprocess.errors, "");
}

/* Counts the batches that a run reports. */
static const char *batches(const char *errors)
{
    const char *end = strstr(errors, " batches\n"), *start = end;
    assert_non_null(end);
    while (start[-1] != ' ') {
        start--;
    }
    return process_format("%.*s", (int)(end - start), start);
}

/* Lines already in a pipe at the start are batched like a file's lines, with equal output byte for byte; a
 * last line without a newline counts. */
static void test_pipe_and_file(void **state)
{
    (void)state;
    size_t size;
    char *source = process_read(support_fixture("fr-en-small"), "source.fr", &size);
    size = 1 + (size_t)(strstr(source + 4000, ".\n") - source); /* capacity of every pipe */
    source[size] = '\0';
    struct process_result file = run_clformer(source, TRANSLATE "--beam 1 -v");
    assert_int_equal(file.status, 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], source, size), (ssize_t)size);
    close(ends[1]);
    struct process process = {.input_descriptor = ends[0]};
    struct process_result piped = process_run(&process, TRANSLATE "--beam 1 -v");
    assert_output(piped, file.output);
    assert_string_equal(batches(piped.errors), batches(file.errors));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate, support_teardown),
        cmocka_unit_test_teardown(test_tokens_and_json, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_reader_leaves, support_teardown),
        cmocka_unit_test_teardown(test_pipe_and_file, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
