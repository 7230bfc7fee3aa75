/* `mpirun clformer translate` and `score`: what one process says, byte for byte, whatever the number of
 * ranks; and all of them end where one fails. */
#include <stdlib.h>
#include <string.h>

#include <clformer/ranks.h>

#include "support/ranks.h"

#define TRANSLATE "translate -m " DEMO_MODEL " --gemm native "
#define SCORE     "score -m " DEMO_MODEL " --gemm native "

/* The model's lines several times, some of which cannot be translated, are empty, or too long. */
static const char *read_lines(int with_bad)
{
    size_t size;
    const char *work = process_read(DEMO_MODEL, "work.txt", &size);
    char *lines = support_array(3 * size + 16384, 1);
    strcat(strcat(lines, work), "\n");
    if (with_bad) {
        strcat(lines, "\xff\n");
        for (int i = 0; i < 2000; i++) {
            strcat(lines, "oui ");
        }
        strcat(lines, "\n");
    }
    return strcat(strcat(lines, work), work);
}

static struct process_result run(int ranks, const char *lines, const char *arguments)
{
    return ranks_run_process(ranks, (struct process){.input = lines}, arguments);
}

/* What clformer said, without what mpirun says of exit statuses. */
static const char *own_errors(const struct process_result *result)
{
    char *kept = support_array(result->errors_size + 2, 1);
    char *rest = process_format("%s", result->errors), *line;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strncmp(line, "clformer: ", 10) == 0) {
            strcat(strcat(kept, line), "\n");
        }
    }
    return kept;
}

static void check_same(int ranks, const char *lines, const char *arguments,
                       const struct process_result *alone)
{
    struct process_result result = run(ranks, lines, arguments);
    if (result.status != alone->status || strcmp(result.output, alone->output) != 0 ||
        strcmp(own_errors(&result), own_errors(alone)) != 0) {
        fail_msg("%d ranks, %s: status %d and not %d: %s", ranks, arguments, result.status, alone->status,
                 result.errors);
    }
}

static void test_translate(void **state)
{
    (void)state;
    ranks_need();
    static const char *const flags[] = {"",
                                        "--json --beam 4 --alignments",
                                        "--beam 4 --n-best 3",
                                        "--json --batch-tokens 64 --alternatives 2",
                                        "--sample --seed 5 --beam 1",
                                        "--target-prefix I"};
    const char *lines = read_lines(1);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const char *arguments = process_format(TRANSLATE "%s", flags[i]);
        struct process_result alone = run_clformer(lines, arguments);
        assert_int_equal(alone.status, 1);
        for (int ranks = i == 0 ? 1 : 2 + (int)i % 3; ranks <= (i == 0 ? 4 : 2 + (int)i % 3); ranks++) {
            check_same(ranks, lines, arguments, &alone);
        }
    }
}

static void test_score(void **state)
{
    (void)state;
    ranks_need();
    const char *lines = read_lines(1), *folder = support_temporary_folder();
    process_write(folder, "fr", lines, strlen(lines));
    static const char *const flags[] = {"", "--json"};
    for (int i = 0; i < 2; i++) {
        const char *arguments = process_format(SCORE "%s - %s/fr", flags[i], folder);
        struct process_result alone = run_clformer(lines, arguments);
        assert_int_equal(alone.status, 1);
        for (int ranks = 1; ranks <= 4; ranks++) {
            check_same(ranks, lines, arguments, &alone);
        }
    }
}

/* Several ranks do have lines of their own. */
static void test_they_share(void **state)
{
    (void)state;
    ranks_need();
    struct process_result result = run(3, read_lines(0), TRANSLATE "-v");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.errors, "clformer: rank "), 3);
    assert_int_equal(process_count(result.errors, ": 0 lines"), 0);
    assert_int_equal(process_count(result.errors, "clformer: 193 lines, "), 1);
}

static void test_few_lines(void **state)
{
    (void)state;
    ranks_need();
    static const char *const inputs[] = {"", "\n", "Merci.\n", "Merci.\n\nOui.", "Merci.\n\xff\nOui.\n"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct process_result alone = run_clformer(inputs[i], TRANSLATE);
        check_same(4, inputs[i], TRANSLATE, &alone);
    }
    char *lines = support_array(9000, 1);
    for (int i = 0; i < 2000; i++) {
        strcat(lines, "oui ");
    }
    struct process_result alone = run_clformer(lines, TRANSLATE);
    assert_int_equal(alone.status, 3);
    check_same(2, lines, TRANSLATE, &alone);
}

static void test_lines_are_answered_as_they_come(void **state)
{
    (void)state;
    ranks_need();
    struct coprocess coprocess = ranks_start(3, TRANSLATE "-q");
    coprocess_say(&coprocess, "Merci.\n");
    assert_string_equal(coprocess_hear(&coprocess), "Thanks.\n");
    coprocess_say(&coprocess, "Merci beaucoup.\nOui.\n");
    assert_string_equal(coprocess_hear(&coprocess), "Thank you very much.\n");
    assert_string_equal(coprocess_hear(&coprocess), "Yes.\n");
    assert_int_equal(coprocess_end(&coprocess), 0);
}

static void check_said(const struct process_result *result, int status, const char *sentence)
{
    if (result->status != status || process_count(own_errors(result), "\n") != 1 ||
        strstr(own_errors(result), sentence) == NULL) {
        fail_msg("wanted %d and \"%s\", not %d and %s", status, sentence, result->status, result->errors);
    }
}

static void test_refused(void **state)
{
    (void)state;
    ranks_need();
    const char *folder = support_temporary_folder();
    struct process_result result = run(2, "Merci.\n", TRANSLATE "--beam 1 --stream");
    check_said(&result, 2, "clformer: --stream shows translations as they grow, which one process does");
    result = run(2, NULL, "transcribe -m nowhere none.wav");
    check_said(&result, 2, "clformer: transcribe works in one process");
    result = run(2, "Merci.\n", process_format(TRANSLATE "--target-prefix-file %s/none", folder));
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(own_errors(&result), "/none cannot be read: "), 1);
    process_write(folder, "two", "Oui.\nNon.\n", 10);
    result = run(2, "Merci.\n", process_format(SCORE "- %s/two", folder));
    check_said(&result, 1, "each line needs its other side");
    /* Ranks that differ. */
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE "--beam 4", TRANSLATE "--beam 2");
    check_said(&result, 2, "--beam is 2, but 4 on rank 0; it must be the same on all ranks");
    assert_non_null(strstr(result.errors, "clformer: rank 1 on "));
    const char *other = process_model_copy(DEMO_MODEL);
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE,
                              process_format("translate --gemm native -m %s", other));
    assert_int_equal(result.status, 0); /* wherever it is */
    process_write(other, "work.txt", "Non.\n", 5);
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE,
                              process_format("translate --gemm native -m %s", other));
    check_said(&result, 2, "the checksum of the model's files is ");
    assert_non_null(strstr(result.errors, "clformer: rank 1 on "));
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE, TRANSLATE "-d no-such-device");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "clformer: rank 1 on "));
}

/* Of three ranks one loses its device, or is killed, at its process' n-th launch (tests/preload/lost.c). */
static struct process_result run_losing(int rank, int launch, int kills, const char *lines)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its runtime must be the first that is loaded */
#endif
    setenv("LD_PRELOAD", CLF_BUILD_FOLDER "/tests/lost.so", 1);
    setenv("LOST_AFTER", process_format("%d", launch), 1);
    setenv("LOST_RANK", process_format("%d", rank), 1);
    if (kills) {
        setenv("LOST_KILLS", "1", 1);
    }
    struct process_result result = run(3, lines, TRANSLATE "--beam 4");
    static const char *const names[] = {"LD_PRELOAD", "LOST_AFTER", "LOST_RANK", "LOST_KILLS"};
    for (int i = 0; i < 4; i++) {
        unsetenv(names[i]);
    }
    return result;
}

/* Behind the opening of devices, which may do without one that fails, and no later than every rank comes with
 * its first lines: how many it has in all is a matter of pace. */
static void test_a_rank_fails(void **state)
{
    (void)state;
    ranks_need();
    const char *lines = read_lines(0);
    struct process_result alone = run_clformer(lines, TRANSLATE "--beam 4");
    for (int rank = 0; rank < 3; rank++) {
        for (int launch = 80; launch <= 120; launch += 40) {
            struct process_result lost = run_losing(rank, launch, 0, lines);
            assert_int_equal(lost.status, 1);
            assert_string_equal(lost.output, "");
            if (strstr(own_errors(&lost), process_format("clformer: rank %d on ", rank)) == NULL) {
                fail_msg("rank %d lost its device: %s", rank, lost.errors);
            }
        }
        struct process_result killed = run_losing(rank, 100, 1, lines);
        assert_true(killed.status != 0);
        assert_string_equal(killed.output, "");
        if (strstr(clf_ranks_library(), "Open MPI") != NULL &&
            strstr(killed.errors, process_format("rank %d with PID", rank)) == NULL) {
            fail_msg("rank %d was killed, and mpirun says %s", rank, killed.errors);
        }
    }
    check_same(3, lines, TRANSLATE "--beam 4", &alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_they_share, support_teardown),
        cmocka_unit_test_teardown(test_few_lines, support_teardown),
        cmocka_unit_test_teardown(test_lines_are_answered_as_they_come, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_a_rank_fails, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
