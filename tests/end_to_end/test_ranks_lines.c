/* `mpirun clformer translate` and `score`: output equals one process's byte for byte for any number of ranks;
 * if one fails, all end. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <clformer/ranks.h>

#include "base/file.h"

#include "support/ranks.h"

#define TRANSLATE "translate -m " DEMO_MODEL " --gemm native "
#define SCORE     "score -m " DEMO_MODEL " --gemm native "

/* The model's lines repeated, some of which are invalid, empty, or too long. */
enum { BATCHES_OF_WORK = 12 };

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

/* clformer's messages, without mpirun's about exit statuses. */
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
    for (int i = 0; i < ranks_cases(sizeof flags / sizeof *flags); i++) {
        const char *arguments = process_format(TRANSLATE "%s", flags[i]);
        struct process_result alone = run_clformer(lines, arguments);
        assert_int_equal(alone.status, 1);
        check_same(1 + (i + 2) % 4, lines, arguments, &alone);
    }
}

static void test_score(void **state)
{
    (void)state;
    ranks_need();
    const char *lines = read_lines(1), *folder = support_temporary_folder();
    process_write(folder, "fr", lines, strlen(lines));
    static const char *const flags[] = {"", "--json"};
    for (int i = 0; i < ranks_cases(2); i++) {
        const char *arguments = process_format(SCORE "%s - %s/fr", flags[i], folder);
        struct process_result alone = run_clformer(lines, arguments);
        assert_int_equal(alone.status, 1);
        check_same(i == 0 ? 4 : 3, lines, arguments, &alone);
    }
}

/* Several ranks each get lines. */
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

/* Also before the ranks have met: a call that is wrong on all ranks, and one that is wrong on one. */
static void test_wrong_calls_are_said_once(void **state)
{
    (void)state;
    ranks_need();
    static const struct {
        const char *call, *part;
        int status;
    } rows[] = {
        {TRANSLATE "--nosuch", "--nosuch: unknown flag of translate", 2},
        {"score", "score: requires a model", 2},
        {"train --nosuch", "--nosuch: unknown flag of train", 2},
        {"nosuch", "nosuch: unknown verb", 2},
        {"train --recipe /no/such/recipe", "/no/such/recipe", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct process_result result = ranks_run(3, NULL, rows[i].call);
        assert_int_equal(result.status, rows[i].status);
        assert_int_equal(process_count(own_errors(&result), "clformer: "), 1);
        assert_int_equal(process_count(result.errors, "clformer: rank 0 on "), 1);
        assert_non_null(strstr(result.errors, rows[i].part));
    }
    struct process_result result =
        ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE, TRANSLATE "--nosuch");
    assert_true(result.status != 0);
    assert_int_equal(process_count(own_errors(&result), "clformer: "), 1);
    assert_non_null(strstr(own_errors(&result), "clformer: rank 1 on "));
    assert_non_null(strstr(own_errors(&result), "--nosuch: unknown flag of translate"));
}

static void test_few_lines(void **state)
{
    (void)state;
    ranks_need();
    static const char *const inputs[] = {"Merci.\n\xff\nOui.\n", "", "\n", "Merci.\n", "Merci.\n\nOui."};
    for (int i = 0; i < ranks_cases(sizeof inputs / sizeof *inputs); i++) {
        const char *folder = support_temporary_folder(), *file = process_format("%s/fr", folder);
        process_write(folder, "fr", inputs[i], strlen(inputs[i]));
        struct process_result alone = run_clformer(inputs[i], TRANSLATE);
        check_same(4, inputs[i], TRANSLATE, &alone);
        const char *score = process_format(SCORE "%s %s", file, file);
        alone = run_clformer(NULL, score);
        check_same(4, NULL, score, &alone);
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
    coprocess_write(&coprocess, "Merci.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Thanks.\n");
    coprocess_write(&coprocess, "Merci beaucoup.\nOui.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Thank you very much.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Yes.\n");
    assert_int_equal(coprocess_end(&coprocess), 0);
}

/* One sentence, and perhaps the one that names the finished lines. */
static void check_said(const struct process_result *result, int status, const char *sentence)
{
    const char *errors = own_errors(result);
    int sentences = process_count(errors, "\n") - process_count(errors, "/out.part: contains the first ");
    if (result->status != status || sentences != 1 || strstr(errors, sentence) == NULL) {
        fail_msg("wanted %d and \"%s\", not %d and %s", status, sentence, result->status, result->errors);
    }
}

static void test_refused(void **state)
{
    (void)state;
    ranks_need();
    const char *folder = support_temporary_folder();
    struct process_result result = run(2, "Merci.\n", TRANSLATE "--beam 1 --stream");
    check_said(&result, 2, "clformer: --stream: works in a single process only");
    result = run(2, "Merci.\n", process_format(TRANSLATE "--target-prefix-file %s/none", folder));
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(own_errors(&result), "/none: cannot be read: "), 1);
    process_write(folder, "two", "Oui.\nNon.\n", 10);
    result = run(2, "Merci.\n", process_format(SCORE "- %s/two", folder));
    check_said(&result, 1, "both must have the same number of lines");
    /* Ranks that differ. */
    result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", TRANSLATE "--beam 4", TRANSLATE "--beam 2");
    check_said(&result, 2, "--beam is 2 on this rank but 4 on rank 0; it must be the same on all ranks");
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

/* One of three ranks loses its device at its process's n-th launch, or fails as `instead` says
 * (tests/preload/lost.c). */
static struct process_result run_losing(int rank, int launch, const char *instead, const char *lines,
                                        const char *arguments)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its runtime must be loaded first */
#endif
    const char *const settings[][2] = {{"LD_PRELOAD", process_library("lost.so")},
                                       {"LOST_AFTER", process_format("%d", launch)},
                                       {"LOST_RANK", process_format("%d", rank)},
                                       {instead, "1"}};
    int count = instead != NULL ? 4 : 3;
    for (int i = 0; i < count; i++) {
        setenv(settings[i][0], settings[i][1], 1);
    }
    struct process_result result = run(3, lines, arguments);
    for (int i = 0; i < count; i++) {
        unsetenv(settings[i][0]);
    }
    assert_true(result.status != 0);
    /* MPICH's launcher reports killed processes here */
    int is_launchers =
        strncmp(result.output, "\n=====", 6) == 0 && strstr(result.output, "(signal 9)") != NULL;
    assert_true(*result.output == '\0' || is_launchers);
    return result;
}

/* Fails unless only the old file exists, or beside it the finished lines with their record. */
static void check_old(const char *folder, int is_alone)
{
    size_t size;
    assert_string_equal(process_read(folder, "out", &size), "old\n");
    struct clf__names names = {.count = 0};
    assert_ok(clf__folder_list(&names, folder));
    int is_kept = names.count == 3 && strcmp(names.items[1], "out.part") == 0 &&
                  strcmp(names.items[2], "out.part.json") == 0;
    assert_true(!is_alone || names.count == 1 || is_kept);
    clf__names_free(&names);
}

/* A run that fails this way, with an existing output. */
static struct process_result run_failing(int rank, int launch, const char *instead, const char *lines,
                                         const char *command)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "out", "old\n", 4);
    struct process_result result =
        run_losing(rank, launch, instead, lines, process_format("%s -o %s/out", command, folder));
    check_old(folder, instead == NULL || strcmp(instead, "LOST_KILLS") != 0);
    return result;
}

static void check_failures(const char *lines, const char *command)
{
    for (int rank = 0; rank < 3; rank++) {
        struct process_result lost = run_failing(rank, 80, NULL, lines, command);
        check_said(&lost, 1, process_format("clformer: rank %d on ", rank));
        struct process_result killed = run_failing(rank, 80, "LOST_KILLS", lines, command);
        if (strstr(clf_ranks_library(), "Open MPI") != NULL &&
            strstr(killed.errors, process_format("rank %d with PID", rank)) == NULL) {
            fail_msg("rank %d was killed, and mpirun says %s", rank, killed.errors);
        }
    }
    /* Later: the full disk may fail kernels before the first decoder step. */
    struct process_result full = run_failing(0, 100, "LOST_DISK", lines, command);
    check_said(&full, 1, "clformer: rank 0 on ");
    check_said(&full, 1, "/out.part: cannot be written: ");
}

static void check_file(const char *lines, const char *command)
{
    size_t size;
    const char *folder = support_temporary_folder();
    struct process_result alone = run_clformer(lines, command),
                          result = run(3, lines, process_format("%s -o %s/out", command, folder));
    if (result.status != alone.status) {
        fail_msg("%s: status %d, and it says %s", command, result.status, result.errors);
    }
    assert_string_equal(result.output, "");
    assert_string_equal(process_read(folder, "out", &size), alone.output);
}

/* At a launch after devices are opened, as opening tolerates failures, and before every rank has its first
 * lines: their total number depends on speed. */
static void test_a_rank_fails(void **state)
{
    (void)state;
    ranks_need();
    size_t size;
    const char *folder = support_temporary_folder(), *work = process_read(DEMO_MODEL, "work.txt", &size);
    char *lines = support_array(BATCHES_OF_WORK * size + 1, 1); /* several batches per rank */
    for (int i = 0; i < BATCHES_OF_WORK; i++) {
        strcat(lines, work);
    }
    process_write(folder, "fr", lines, strlen(lines));
    const char *score = process_format(SCORE "- %s/fr", folder);
    check_file(lines, TRANSLATE "--beam 4");
    check_file(lines, score);
    check_failures(lines, TRANSLATE "--beam 4");
    check_failures(lines, score);
}

/* Returns a copy of the command with another version string. */
static const char *make_other_version(void)
{
    char *version = run_clformer(NULL, "--version").output + strlen("clformer ");
    version[strcspn(version, "\n")] = '\0';
    size_t size, length = strlen(version) + 1;
    int found = 0;
    const char *folder = support_temporary_folder();
    char *bytes = process_read(CLF_BUILD_FOLDER, "clformer", &size);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, version, length) == 0) {
            bytes[i] = '9';
            found++;
        }
    }
    assert_true(found > 0);
    process_write(folder, "clformer", bytes, size);
    assert_int_equal(chmod(process_format("%s/clformer", folder), 0700), 0);
    return process_format("%s/clformer", folder);
}

static void test_other_version(void **state)
{
    (void)state;
    ranks_need();
    const char *between = process_format(TRANSLATE ": -n 1 %s " TRANSLATE, make_other_version());
    struct process_result result = ranks_run_unlike(CLF_BUILD_FOLDER "/clformer", between, TRANSLATE);
    check_said(&result, 2, ": the version of clformer is 9");
    check_said(&result, 2, "clformer: rank 1 on ");
}

/* Two processes that write the same file are detected. */
static void test_verbs_of_one_process(void **state)
{
    (void)state;
    ranks_need();
    const char *folder = support_temporary_folder();
    const char *const calls[] = {
        "transcribe -m nowhere none.wav",
        "inspect " DEMO_MODEL,
        "bench --stage encode",
        "tune -m " DEMO_MODEL,
        process_format("convert " DEMO_MODEL " -o %s/out", folder),
        process_format("average " DEMO_MODEL " -o %s/out", folder),
        process_format("attend -m " DEMO_MODEL " -o %s/out Merci.", folder),
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct process_result result = run(2, NULL, calls[i]);
        check_said(&result, 2, ": runs as a single process only; start it without mpirun or srun");
        assert_string_equal(result.output, "");
        assert_false(clf__folder_exists(process_format("%s/out", folder)));
    }
    struct process_result result = run(2, NULL, "devices");
    assert_int_equal(result.status, 0); /* each its own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_they_share, support_teardown),
        cmocka_unit_test_teardown(test_wrong_calls_are_said_once, support_teardown),
        cmocka_unit_test_teardown(test_few_lines, support_teardown),
        cmocka_unit_test_teardown(test_lines_are_answered_as_they_come, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_a_rank_fails, support_teardown),
        cmocka_unit_test_teardown(test_other_version, support_teardown),
        cmocka_unit_test_teardown(test_verbs_of_one_process, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
