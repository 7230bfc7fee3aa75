/* --resume continues the output of an interrupted run. The result equals the output of an uninterrupted run.
 * Another model, other flags and another input are refused. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "support/ranks.h"

#define TRANSLATE "translate -m " DEMO_MODEL " --gemm native "

/* Repeats the model's example lines; with_bad adds an invalid line after the first repetition. */
static char *make_lines(int times, int with_bad)
{
    size_t size;
    const char *work = process_read(DEMO_MODEL, "work.txt", &size);
    char *lines = support_array((size_t)times * (size + 1) + 8, 1);
    for (int i = 0; i < times; i++) {
        strcat(strcat(lines, work), size > 0 && work[size - 1] == '\n' ? "" : "\n");
        strcat(lines, i == 0 && with_bad ? "\xff\n" : "");
    }
    return lines;
}

/* Skips tests that start too many processes for the short tier. */
static void skip_small(void)
{
    if (support_small()) {
        skip();
    }
}

static int exists(const char *folder, const char *name)
{
    char path[512]; /* no process_format(): this is asked again and again */
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* How many lines the record counts; 0: there is none. */
static long long recorded(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/out.part.json", folder);
    json_t *record = json_load_file(path, 0, NULL);
    long long lines = json_integer_value(json_object_get(record, "lines"));
    json_decref(record);
    return lines;
}

/* Waits until the record counts more than `lines`. */
static void wait_for_lines(const char *folder, long long lines)
{
    enum { MOST_TRIES = 30000 };
    for (int i = 0; i < MOST_TRIES && recorded(folder) <= lines; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_true(recorded(folder) > lines);
}

/* Starts a run that is stopped once it has finished some lines more than an earlier one. The input stays
 * open, so that it cannot end before. */
static void stop_run(const char *folder, const char *lines, const char *call, int signal_number)
{
    long long before = recorded(folder);
    struct coprocess coprocess = coprocess_start(process_format("%s -o %s/out --resume", call, folder));
    coprocess_write(&coprocess, lines);
    wait_for_lines(folder, before);
    kill(coprocess.child, signal_number);
    assert_int_equal(coprocess_end(&coprocess), 128 + signal_number);
    assert_int_equal(process_count(coprocess.errors, "out.part: contains the first "),
                     signal_number != SIGKILL);
    assert_true(exists(folder, "out.part"));
    size_t size;
    assert_string_equal(process_read(folder, "out", &size), "old\n");
}

/* The run that continues gives the whole output. */
static void check_whole(const char *folder, const char *lines, const char *call,
                        const struct process_result *whole)
{
    size_t size;
    struct process_result result = run_clformer(lines, process_format("%s -o %s/out --resume", call, folder));
    assert_int_equal(result.status, whole->status);
    assert_string_equal(result.output, "");
    assert_string_equal(process_read(folder, "out", &size), whole->output);
    assert_false(exists(folder, "out.part") || exists(folder, "out.part.json"));
}

static const char *old_folder(void)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "out", "old\n", 4);
    return folder;
}

static void append(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(process_format("%s/%s", folder, name), "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Three interruptions at different lines. After the last one, the file has lines that the record does not
 * count, and a partial line. */
static void test_signals(void **state)
{
    (void)state;
    static const char *const flags[] = {"--beam 3 --n-best 3", "--beam 1",
                                        "--beam 1 --json --split-sentences", "--beam 1 --alignments",
                                        "--beam 2 --alternatives 2"};
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    size_t cases = support_small() ? 1 : sizeof flags / sizeof *flags;
    const char *lines = make_lines(support_small() ? 10 : 20, 0);
    for (size_t i = 0; i < cases; i++) {
        const char *folder = old_folder(), *call = process_format(TRANSLATE "%s", flags[i]);
        struct process_result whole = run_clformer(lines, call);
        assert_int_equal(whole.status, 0);
        for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) {
            if (recorded(folder) < process_count(lines, "\n")) { /* otherwise only the end is missing */
                stop_run(folder, lines, call, signals[k]);
            }
        }
        append(folder, "out.part", "7\t-0.5\twhole\n7\t-0.6\thalf a li");
        check_whole(folder, lines, call, &whole);
    }
}

/* An output with some finished lines. Returns its folder. */
static const char *stopped_folder(const char *lines, const char *call)
{
    const char *folder = old_folder();
    stop_run(folder, lines, call, SIGINT);
    return folder;
}

/* Failed lines of the first run are counted and reported by the second run. */
static void test_failed_lines(void **state)
{
    (void)state;
    skip_small();
    const char *lines = make_lines(3, 1);
    const char *call = TRANSLATE "--beam 1";
    struct process_result whole = run_clformer(lines, call);
    assert_int_equal(whole.status, 1);
    const char *folder = stopped_folder(lines, call);
    while (recorded(folder) < process_count(lines, "\n")) {
        stop_run(folder, lines, call, SIGTERM);
    }
    struct process_result result = run_clformer(lines, process_format("%s -o %s/out --resume", call, folder));
    assert_int_equal(result.status, 1);
    assert_int_equal(
        process_count(result.errors, "clformer: 1 of 193 lines failed, 1 of them in the earlier run"), 1);
    assert_int_equal(process_count(result.errors, "line 65: "), 0);
    size_t size;
    assert_string_equal(process_read(folder, "out", &size), whole.output);
}

/* Fails unless the run is refused and the files are unchanged. */
static void refuse(const char *folder, const char *lines, const char *call, const char *part)
{
    size_t before, after;
    const char *kept = process_read(folder, "out.part", &before);
    struct process_result result = run_clformer(lines, process_format("%s -o %s/out --resume", call, folder));
    assert_refused(result, 2, part);
    assert_non_null(strstr(result.errors, "out.part"));
    const char *now = process_read(folder, "out.part", &after);
    assert_int_equal(before, after);
    assert_memory_equal(kept, now, before);
    assert_string_equal(process_read(folder, "out", &after), "old\n");
}

static void test_mismatches(void **state)
{
    (void)state;
    const char *lines = make_lines(3, 0);
    const char *model = process_model_copy(DEMO_MODEL),
               *call = process_format("translate -m %s --beam 1", model);
    struct process_result whole = run_clformer(lines, call);
    const char *folder = stopped_folder(lines, call);
    refuse(folder, lines, process_format("translate -m %s --beam 2", model),
           "--beam differs: it was \"1\" and is \"2\" now");
    refuse(folder, process_format("Oui.%s", lines), call, "standard input has changed within the ");
    size_t size;
    char *config = process_read(model, "generation_config.json", &size);
    process_write(model, "generation_config.json", process_format("%s ", config), size + 1);
    refuse(folder, lines, call, "the model differs: generation_config.json has changed");
    process_write(model, "generation_config.json", config, size);
    if (support_small()) {
        return;
    }
    refuse(folder, lines, process_format("%s --max-length 9", call),
           "--max-length differs: it was \"not given\" and is \"9\" now");
    refuse(folder, lines, process_format("%s --json", call),
           "--json differs: it was \"not given\" and is \"given\" now");
    refuse(folder, lines, process_format("%s --target-prefix-file %s/out", call, folder),
           "--target-prefix-file");
    refuse(folder, "", call, "standard input ends before the end of the ");
    process_write(model, "added_tokens.json", "{}", 2);
    refuse(folder, lines, call, "the model differs: added_tokens.json exists in only one of the models");
    process_remove(model, "added_tokens.json");
    /* Elsewhere it is the same model, and how fast it is may differ. */
    check_whole(folder, lines, TRANSLATE "--gemm auto --beam 1 --batch-tokens 300 -q", &whole);
}

/* The weights of a large file differ in a few bytes. */
static void test_other_weights(void **state)
{
    (void)state;
    skip_small();
    size_t size;
    const char *lines = make_lines(3, 0), *model = process_model_copy(DEMO_MODEL),
               *call = process_format("translate -m %s --beam 1", model),
               *folder = stopped_folder(lines, call);
    char *weights = process_read(model, "model.safetensors", &size);
    weights[size - 3] ^= 1;
    process_write(model, "model.safetensors", weights, size);
    refuse(folder, lines, call, "the model differs: model.safetensors has changed");
}

static void test_bad_files(void **state)
{
    (void)state;
    skip_small();
    const char *lines = make_lines(3, 0), *call = TRANSLATE "--beam 1";
    const char *folder = stopped_folder(lines, call);
    size_t size;
    char *record = process_read(folder, "out.part.json", &size);
    process_remove(folder, "out.part.json");
    refuse(folder, lines, call, "out.part.json does not exist");
    struct process_result result = run_clformer(lines, process_format("%s -o %s/out", call, folder));
    assert_refused(result, 2, "not an unfinished clformer output");
    process_write(folder, "out.part.json", "{\"mine\": 1}", 11);
    refuse(folder, lines, call, "not a clformer record");
    process_write(folder, "out.part.json", record, size);
    size_t whole;
    char *text = process_read(folder, "out.part", &whole);
    process_write(folder, "out.part", text, whole / 2);
    refuse(folder, lines, call, process_format("has %zu bytes, fewer than the ", whole / 2));
}

/* Nothing to continue, nothing to keep, and a call that cannot be. */
static void test_beginnings(void **state)
{
    (void)state;
    skip_small();
    size_t size;
    const char *lines = make_lines(3, 0), *folder = old_folder(), *call = TRANSLATE "--beam 1";
    struct process_result whole = run_clformer(lines, call);
    struct process_result result = run_clformer(lines, process_format("%s -o %s/out --resume", call, folder));
    assert_output(result, "");
    assert_int_equal(process_count(result.errors, "out.part: does not exist; the run starts at line 1\n"), 1);
    assert_string_equal(process_read(folder, "out", &size), whole.output);
    folder = stopped_folder(lines, call); /* without the flag it begins again */
    result = run_clformer(lines, process_format("%s -o %s/out", call, folder));
    assert_output(result, "");
    assert_int_equal(
        process_count(result.errors,
                      "from an earlier run are replaced; use --resume to continue the earlier run\n"),
        1);
    assert_string_equal(process_read(folder, "out", &size), whole.output);
    assert_false(exists(folder, "out.part") || exists(folder, "out.part.json"));
    folder = old_folder();
    struct coprocess idle = coprocess_start(process_format("%s -q -o %s/out", call, folder));
    for (int i = 0; i < 30000 && !exists(folder, "out.part.json"); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    result = run_clformer(lines, process_format("%s -o %s/out --resume", call, folder));
    assert_refused(result, 2, "another run is writing this file");
    kill(idle.child, SIGINT);
    assert_int_equal(coprocess_end(&idle), 128 + SIGINT);
    assert_false(exists(folder, "out.part") || exists(folder, "out.part.json"));
    result = run_clformer(lines, process_format("%s --resume", call));
    assert_refused(result, 2, "--resume: requires an output file; add --output FILE");
    result = run_clformer(lines, process_format("%s --resume -o /dev/null", call));
    assert_refused(result, 2, "--resume: requires an output file; add --output FILE");
}

/* Both inputs of score and of a file of prefixes are compared. */
static void test_two_inputs(void **state)
{
    (void)state;
    skip_small();
    const char *lines = make_lines(12, 0), *folder = old_folder();
    process_write(folder, "target", lines, strlen(lines));
    const char *call = process_format("score -m " DEMO_MODEL " - %s/target", folder);
    struct process_result whole = run_clformer(lines, call);
    assert_int_equal(whole.status, 0);
    stop_run(folder, lines, call, SIGTERM);
    process_write(folder, "target", process_format("x%s", lines), strlen(lines) + 1);
    refuse(folder, lines, call, "target has changed within the ");
    process_write(folder, "target", lines, strlen(lines));
    refuse(folder, lines, TRANSLATE, "the verb differs: it was score and is translate now");
    check_whole(folder, lines, call, &whole);
}

/* One process continues what two ranks began, and two what one began. */
static void test_ranks(void **state)
{
    (void)state;
    skip_small();
    ranks_need();
    size_t size;
    const char *lines = make_lines(12, 1), *call = TRANSLATE "--beam 2 --n-best 2", *folder = old_folder();
    struct process_result whole = run_clformer(lines, call);
    struct coprocess both = ranks_start(2, process_format("%s -o %s/out", call, folder));
    coprocess_write(&both, lines);
    wait_for_lines(folder, 0);
    kill(both.child, SIGTERM);
    assert_true(coprocess_end(&both) != 0);
    assert_string_equal(process_read(folder, "out", &size), "old\n");
    check_whole(folder, lines, call, &whole);
    folder = stopped_folder(lines, call);
    struct process_result result = ranks_run_process(2, (struct process){.input = lines},
                                                     process_format("%s -o %s/out --resume", call, folder));
    assert_int_equal(result.status, 1);
    assert_string_equal(process_read(folder, "out", &size), whole.output);
    folder = stopped_folder(lines, call);
    result = ranks_run_process(2, (struct process){.input = "Oui.\n"},
                               process_format("%s -o %s/out --resume", call, folder));
    assert_int_equal(result.status, 2);
    assert_int_equal(process_count(result.errors, "the input differs: standard input "), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_signals, support_teardown),
        cmocka_unit_test_teardown(test_failed_lines, support_teardown),
        cmocka_unit_test_teardown(test_mismatches, support_teardown),
        cmocka_unit_test_teardown(test_other_weights, support_teardown),
        cmocka_unit_test_teardown(test_bad_files, support_teardown),
        cmocka_unit_test_teardown(test_beginnings, support_teardown),
        cmocka_unit_test_teardown(test_two_inputs, support_teardown),
        cmocka_unit_test_teardown(test_ranks, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
