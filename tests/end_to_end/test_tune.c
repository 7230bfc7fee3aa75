/* `clformer tune` on a small model: its results file, resuming, and its use. Which choice wins is not
 * checked. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"

#define MODEL     " -m " CLF_SOURCE_FOLDER "/tests/fixtures/models/marian "
#define MEASURED  "fp32, marian\n"
#define TUNED     "tuned     "
#define TRANSLATE "translate -m " DEMO_MODEL " --json --batch-tokens 40"

/* A cache folder for these tests, with their compiled kernels; the drivers' caches stay in place. */
static char cache[256];

static void begin_cache(void)
{
    process_set_environment();
    if (*cache == '\0') {
        snprintf(cache, sizeof cache, "%s", support_temporary_folder());
    }
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("CLFORMER_TUNING", "on", 1);
}

static char kept_path[512]; /* path of the last file that was named */

static int reset_environment(void **state)
{
    (void)state;
    remove(kept_path);
    unsetenv("XDG_CACHE_HOME");
    setenv("CLFORMER_TUNING", "off", 1);
    support_free_all();
    return 0;
}

/* Returns the path in the first line of a run. */
static char *kept_in(const struct process_result *result)
{
    const char *path = strstr(result->output, "results are saved in ");
    assert_non_null(path);
    path += strlen("results are saved in ");
    snprintf(kept_path, sizeof kept_path, "%.*s", (int)strcspn(path, "\n"), path);
    return process_format("%s", kept_path);
}

static char *read_kept(const struct process_result *result)
{
    char *path = kept_in(result);
    char *name = strrchr(path, '/');
    *name++ = '\0';
    size_t size;
    return process_read(path, name, &size);
}

static void write_kept(const struct process_result *result, const char *text)
{
    char *path = kept_in(result);
    char *name = strrchr(path, '/');
    *name++ = '\0';
    process_write(path, name, text, strlen(text));
}

/* Numbers: measured, kept, not measured twice, measured again on request. */
static void test_resume(void **state)
{
    (void)state;
    begin_cache();
    struct process_result result = run_clformer(NULL, "devices");
    assert_int_equal(process_count(result.output, TUNED), 0);
    result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, MEASURED), 1);
    assert_int_equal(process_count(result.output, "peed-up: "), 1);
    char *kept = read_kept(&result);
    assert_int_equal(process_count(kept, "\ncpu_groups = "), 1);
    assert_int_equal(process_count(kept, MEASURED), 1);
    result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups step_rows_fp32" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "already saved: quick: "), 1);
    assert_int_equal(process_count(result.output, MEASURED), 2); /* with the measurement of each */
    assert_int_equal(process_count(result.errors, "; use --again to measure them\n"), 1);
    assert_int_equal(process_count(read_kept(&result), MEASURED), 2);
    result = run_clformer(NULL, "tune --quick --variant cpu --again cpu_groups" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "already saved"), 0);
    assert_int_equal(process_count(result.errors, "--again"), 0);
    assert_int_equal(process_count(read_kept(&result), MEASURED), 2);
    result = run_clformer(NULL, "devices");
    assert_int_equal(process_count(result.output, TUNED), 1);
    assert_non_null(strstr(result.output, "/tuning/"));
    result = process_run(&(struct process){.environment = "CLFORMER_TUNING=off"}, "devices");
    assert_int_equal(process_count(result.output, TUNED), 0);
}

/* The batch size is measured only on the GPU variant. */
static void test_batch_tokens(void **state)
{
    (void)state;
    begin_cache();
    struct process_result result = run_clformer(NULL, "tune --quick --variant gpu batch_tokens" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\nbatch_tokens "), 1);
    assert_int_equal(process_count(read_kept(&result), "\nbatch_tokens = "), 1);
    write_kept(&result, "batch_tokens = 4096\n");
    static const char *const words[][2] = {{"gpu", "4096"}, {"cpu", "2048"}};
    for (int i = 0; i < 2; i++) {
        result = run_clformer("Merci.\n",
                              process_format("translate -m " DEMO_MODEL " --variant %s -v", words[i][0]));
        assert_int_equal(process_count(result.errors, process_format(" up to %s source tokens", words[i][1])),
                         1);
    }
    result = run_clformer(NULL, "tune --quick --variant cpu --again batch_tokens" MODEL);
    assert_int_equal(
        process_count(result.errors, "batch_tokens: not measured, because this device does not use it"), 1);
}

/* A choice is measured on two devices; settings from flags or the environment are not measured. */
static void test_choice(void **state)
{
    (void)state;
    begin_cache();
    struct process process = {.environment = "CLFORMER_VARIANT=cpu"};
    struct process_result result =
        process_run(&process, "tune --quick attention variant skinny_rows_fp32" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(
        process_count(result.errors, "variant: not measured, because it is fixed by $CLFORMER_VARIANT\n"), 1);
    assert_int_equal(
        process_count(result.errors, "skinny_rows_fp32: not measured, because this device does not use it"),
        1);
    assert_int_equal(process_count(result.errors, "because it is fixed by"), 1);
    char *kept = read_kept(&result);
    assert_int_equal(process_count(kept, "\nattention = "), 1);
    assert_int_equal(process_count(kept, "variant = "), 0);
    assert_int_equal(process_count(kept, "# quick: "), 1);
    result = process_run(&process, "tune attention" MODEL); /* a thorough measurement at last */
    assert_int_equal(process_count(result.output, "already saved"), 0);
    assert_int_equal(process_count(read_kept(&result), "# quick: "), 0);
}

/* Concurrent runs keep each other's results. */
static void test_two_at_once(void **state)
{
    (void)state;
    begin_cache();
    pid_t other = fork();
    if (other == 0) {
        run_clformer(NULL, "tune --quick --variant cpu step_rows_fp32" MODEL);
        _exit(0);
    }
    struct process_result result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_int_equal(result.status, 0);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    char *kept = read_kept(&result);
    assert_int_equal(process_count(kept, "\ncpu_groups = "), 1);
    assert_int_equal(process_count(kept, "\nstep_rows_fp32 = "), 1);
}

/* If results cannot be saved, nothing is measured. */
static void test_no_place(void **state)
{
    (void)state;
    begin_cache();
    const char *folder = support_temporary_folder();
    assert_int_equal(mkdir(process_format("%s/clformer", folder), 0777), 0);
    process_write(folder, "clformer/tuning", "", 0); /* a file where the folder should be */
    struct process process = {.environment = process_format("XDG_CACHE_HOME=%s", folder)};
    struct process_result result = process_run(&process, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_refused(result, 1, "clformer/tuning");
}

static void test_interrupt(void **state)
{
    (void)state;
    begin_cache();
    struct process_result first = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_int_equal(first.status, 0);
    struct process process = {.signal_when_started = SIGINT};
    struct process_result result =
        process_run(&process, "tune --quick --variant cpu --verbose --again" MODEL);
    assert_int_equal(result.status, 128 + SIGINT);
    assert_int_equal(process_count(result.errors, "clformer: interrupted"), 1);
    assert_int_equal(process_count(read_kept(&first), "\ncpu_groups = "), 1);
}

/* Tuned numbers never change a bit, choices are used, and errors in the file are reported and skipped. */
static void test_use(void **state)
{
    (void)state;
    static const char lines[] = "Je suis étudiant\nMerci.\nIl fait beau.\nOù est la gare ?\nBonjour\n";
    begin_cache();
    struct process_result result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    struct process untuned = {.input = lines, .environment = "CLFORMER_TUNING=off"};
    struct process_result plain = process_run(&untuned, TRANSLATE " --variant cpu --gemm native");
    assert_int_equal(plain.status, 0);
    write_kept(&result, "cpu_groups = 1\ncpu_operand_kib = 16\nstep_rows_fp32 = 0\n");
    struct process_result tuned = run_clformer(lines, TRANSLATE " --variant cpu --gemm native");
    assert_output(tuned, plain.output);
    /* After a measurement, the saved settings are compared as a whole with the untuned device. */
    write_kept(&result, "attention = batched\n");
    result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\nTotal: encoding and decoding, one line and many "), 1);
    result = run_clformer(NULL, "tune --quick --variant cpu cpu_groups" MODEL);
    assert_int_equal(process_count(result.output, "peed-up: ") + process_count(result.output, "Total: "), 0);
    write_kept(&result, "cpu_groups = 1\ncpu_gruops = 2\nattention = batched\n");
    tuned = run_clformer("Je suis étudiant\n", "translate --variant cpu --verbose -m " DEMO_MODEL);
    assert_int_equal(tuned.status, 0);
    assert_non_null(strstr(tuned.errors, "using tuned settings from "));
    assert_int_equal(process_count(tuned.errors, "\"cpu_gruops\"; the line is ignored"), 1);
    assert_non_null(strstr(tuned.errors, "softmax")); /* a kernel of batched attention */
    tuned = run_clformer("Je suis étudiant\n",
                         "translate --variant cpu --attention fused --verbose -m " DEMO_MODEL);
    assert_null(strstr(tuned.errors, "softmax_"));
}

static void test_wrong_calls(void **state)
{
    (void)state;
    begin_cache();
    struct process_result result = run_clformer(NULL, "tune cpu_gruops");
    assert_refused(result, 2, "cpu_gruops: unknown setting");
    result = run_clformer(NULL, "tune instructions"); /* one precision's choice would apply to all */
    assert_refused(result, 2, "instructions: unknown setting");
    result = run_clformer(NULL, "tune pipelined_steps"); /* concerns the host */
    assert_refused(result, 2, "pipelined_steps: unknown setting");
    result = run_clformer(NULL, "tune --variant cpu attention variant");
    assert_refused(result, 2, "variant: fixed by --variant; remove the flag or the name");
    result = run_clformer(NULL, "tune --gemm native gemm");
    assert_refused(result, 2, "gemm: fixed by --gemm");
    result = run_clformer(NULL, "tune --attention fused attention");
    assert_refused(result, 2, "attention: fixed by --attention");
    result = run_clformer(NULL, "tune --precision int8 skinny_rows_int8 step_rows_fp32");
    assert_refused(result, 2, "step_rows_fp32: can be measured only with --precision fp32");
    result = run_clformer(NULL, "tune -m /nosuch");
    assert_refused(result, 1, "/nosuch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_resume, reset_environment),
        cmocka_unit_test_teardown(test_batch_tokens, reset_environment),
        cmocka_unit_test_teardown(test_choice, reset_environment),
        cmocka_unit_test_teardown(test_two_at_once, reset_environment),
        cmocka_unit_test_teardown(test_no_place, reset_environment),
        cmocka_unit_test_teardown(test_interrupt, reset_environment),
        cmocka_unit_test_teardown(test_use, reset_environment),
        cmocka_unit_test_teardown(test_wrong_calls, reset_environment),
    };
    return cmocka_run_group_tests_name("end_to_end/tune", tests, NULL, NULL);
}
