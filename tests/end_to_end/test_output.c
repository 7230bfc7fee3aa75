/* How the command ends when its output, its cache or its user fails, and its warnings. */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " "

static void test_full_disk(void **state)
{
    (void)state;
    struct process full = {.input = "Merci.\n", .output_path = "/dev/full"};
    static const char *const calls[] = {
        TRANSLATE, TRANSLATE "--json",    "devices",
        "--help",  "inspect " DEMO_MODEL, "attend -m " DEMO_MODEL " -o - Merci."};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct process_result result = process_run(&full, calls[i]);
        assert_refused(result, 1, "standard output: cannot be written: No space left on device");
    }
    struct process_result result = run_clformer(NULL, "attend -m " DEMO_MODEL " -o /dev/full Merci.");
    assert_refused(result, 1, "/dev/full");
    result = run_clformer(NULL, "attend -m " DEMO_MODEL " -o /no/such/folder/page.html Merci.");
    assert_refused(result, 1, "/no/such/folder/page.html");
}

static void test_closed_pipe_is_quiet(void **state)
{
    (void)state;
    struct process closed = {.input = "Merci.\nMerci.\n", .has_closed_output = 1};
    static const char *const calls[] = {TRANSLATE, "devices", "inspect " DEMO_MODEL};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct process_result result = process_run(&closed, calls[i]);
        assert_int_equal(result.status, 128 + SIGPIPE);
        assert_string_equal(result.errors, "");
    }
}

/* A file opened later does not take over a closed descriptor. */
static void test_closed_descriptors(void **state)
{
    (void)state;
    struct process process = {.input = "Merci.\n", .closed = {1, 0, 0}};
    struct process_result result = process_run(&process, TRANSLATE);
    assert_refused(result, 1, "standard input: cannot be read: Bad file descriptor");
    const char *folder = support_temporary_folder();
    process_write(folder, "en", "Thanks.\n", 8);
    result = process_run(&process, process_format("score -m " DEMO_MODEL " - %s/en", folder));
    assert_refused(result, 1, "standard input: cannot be read: Bad file descriptor");
    process = (struct process){.closed = {0, 1, 0}};
    result = process_run(&process, "devices");
    assert_refused(result, 1, "standard output: cannot be written: Bad file descriptor");
    process.closed[2] = 1;
    result = process_run(&process, process_format("average " DEMO_MODEL " -o %s/mean", folder));
    assert_int_equal(result.status, 0); /* without output, it needs no standard output */
    size_t size;
    assert_non_null(process_read(folder, "mean/config.json", &size));
}

/* A choice without effect is reported once, and only if it was made. */
static void test_clblast_in_int8(void **state)
{
    (void)state;
    static const char sentence[] =
        "clformer: warning: " DEMO_MODEL
        ": CLBlast supports only fp32 weights, but the model is loaded in int8; native kernels are used\n";
    struct process_result result = run_clformer("Oui.\n", TRANSLATE "--precision int8 --gemm clblast");
    assert_output(result, "Yes.\n");
    assert_string_equal(result.errors, sentence);
    struct process process = {.input = "Oui.\n", .environment = "CLFORMER_GEMM=clblast"};
    result = process_run(&process, TRANSLATE "--precision int8");
    assert_string_equal(result.errors, sentence);
    result = process_run(&process, TRANSLATE "--precision int8 --gemm native");
    assert_output(result, "Yes.\n");
    assert_string_equal(result.errors, "");
}

/* An interrupted verb ends by the signal, so that a shell's loop ends too. (process_result.status is 128 +
 * WTERMSIG.) */
static void test_interrupt(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct process process = {.signal_when_started = signals[i]};
        struct process_result result = process_run(&process, TRANSLATE "--verbose");
        assert_int_equal(result.status, 128 + signals[i]);
        assert_int_equal(result.output_size, 0);
        assert_int_equal(process_count(result.errors, "clformer: interrupted"), 1);
    }
    const char *folder = support_temporary_folder();
    process_write(folder, "en", "Thanks.\n", 8);
    struct process process = {.signal_when_started = SIGINT};
    struct process_result result =
        process_run(&process, process_format("score -v -m " DEMO_MODEL " - %s/en", folder));
    assert_int_equal(result.status, 128 + SIGINT);
    assert_int_equal(process_count(result.errors, "clformer: interrupted"), 1);
    result = process_run(&process, "bench --stage encode --batch 1,8,64 --repeats 1000 -v");
    assert_int_equal(result.status, 128 + SIGINT);
    assert_int_equal(process_count(result.errors, "clformer: interrupted\n"), 1);
}

/* After a signal during the compilation of a program, nothing else is compiled or stored
 * (tests/preload/stop.c). */
static void test_interrupt_in_compilation(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its runtime must be loaded first */
#endif
    static const char *const calls[] = {TRANSLATE, "selftest", "bench --stage translate -m " DEMO_MODEL,
                                        "tune --quick -m " DEMO_MODEL,
                                        "attend -m " DEMO_MODEL " -o %s/page Oui."};
    static const int builds[] = {1, 2, 7};
    const char *library = process_library("stop.so");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (size_t j = 0; j < sizeof builds / sizeof *builds; j++) {
            const char *folder = support_temporary_folder();
            struct process process = {.input = "Merci.\n",
                                      .launcher =
                                          process_format("env LD_PRELOAD=%s STOP_AT=%d", library, builds[j]),
                                      .environment = process_format("XDG_CACHE_HOME=%s", folder),
                                      .keeps_kernels = 1};
            struct process_result result = process_run(&process, process_format(calls[i], folder));
            assert_int_equal(result.status, 128 + SIGINT);
            assert_int_equal(process_count(result.errors, "clformer: interrupted"), 1);
            assert_int_equal(process_count(result.errors, "after the signal"), 0);
            assert_int_equal(process_count(result.errors, "warning"), 0);
            assert_int_not_equal(access(process_format("%s/page", folder), F_OK), 0);
        }
    }
}

/* Verbs with nothing to clean up end at once. */
static void test_interrupt_at_once(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "en", "Thanks.\n", 8);
    struct coprocess bleu = coprocess_start(process_format("bleu %s/en", folder));
    kill(bleu.child, SIGINT);
    assert_int_equal(coprocess_end(&bleu), 128 + SIGINT);
    assert_string_equal(bleu.errors, "");
}

/* Signals that are ignored at the start, as with nohup and background jobs, stay ignored. */
static void test_ignored_signals(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGHUP};
    for (int i = 0; i < 2; i++) {
        signal(signals[i], SIG_IGN);
        struct coprocess coprocess = coprocess_start(TRANSLATE "-q");
        signal(signals[i], SIG_DFL);
        coprocess_write(&coprocess, "Merci.\n");
        coprocess_read_line(&coprocess);
        kill(coprocess.child, signals[i]);
        coprocess_write(&coprocess, "Oui.\n");
        assert_string_equal(coprocess_read_line(&coprocess), "Yes.\n");
        assert_int_equal(coprocess_end(&coprocess), 0);
    }
}

/* Replaces every file of a folder with its first half, or with foreign data. */
static void spoil(const char *folder, int is_foreign)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    int count = 0;
    for (struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
        if (entry->d_name[0] != '.') {
            size_t size;
            char *bytes = process_read(folder, entry->d_name, &size);
            process_write(folder, entry->d_name, is_foreign ? "not ours" : bytes, is_foreign ? 8 : size / 2);
            count++;
        }
    }
    closedir(files);
    assert_true(count > 1);
}

static void test_cache(void **state)
{
    (void)state;
    if (support_small()) { /* PoCL compiles every kernel again for its cache */
        skip();
    }
    const char *folder = support_temporary_folder();
    struct process process = {
        .input = "Merci.\n", .environment = process_format("XDG_CACHE_HOME=%s", folder), .keeps_kernels = 1};
    process_write(folder, "clformer", "", 0); /* a file where the folder should be: cannot be written */
    struct process_result result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_int_equal(process_count(result.errors, "\n"), 1);
    assert_int_equal(result.notices, 0); /* no message promises to keep kernels */
    assert_string_equal(process_run(&process, TRANSLATE "--quiet").errors, "");
    assert_int_equal(process_count(result.errors, "clformer: warning: "), 1);
    assert_non_null(strstr(result.errors, folder));
    process_remove(folder, "clformer");
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_string_equal(result.errors, "");
    spoil(process_format("%s/clformer", folder), 0);
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_int_equal(process_count(result.errors, "\n"), 1);
    assert_int_equal(process_count(result.errors, "clformer: warning: "), 1);
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_string_equal(result.errors, ""); /* damaged files were rewritten */
    spoil(process_format("%s/clformer", folder), 1);
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_int_equal(process_count(result.errors, "\n"), 1);
    assert_non_null(strstr(result.errors, "is not a program compiled by clformer"));
    result = process_run(&process, TRANSLATE);
    assert_output(result, "Thanks.\n");
    assert_string_equal(result.errors, ""); /* these too: foreign files do not have these names */
}

/* One value of a tensor of the tiny model is NaN, and then every logit: lines fail with a message. */
static void test_nan_weights(void **state)
{
    (void)state;
    const char *folder = process_model_copy(support_fixture("models/marian"));
    size_t size;
    char *bytes = process_read(folder, "model.safetensors", &size);
    memset(bytes + size - 4, 0xff, 4);
    process_write(folder, "model.safetensors", bytes, size);
    struct process_result inspected = run_clformer(NULL, process_format("inspect %s", folder));
    assert_int_equal(inspected.status, 0);
    const char *found = strstr(inspected.output, "tensor \"");
    assert_non_null(found);
    char *name = process_format("%.*s", (int)strcspn(found + 8, "\""), found + 8);
    struct process_result result = run_clformer("a\n", process_format("translate -m %s", folder));
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "\n");
    assert_int_equal(process_count(result.errors, "clformer: warning: "), 1);
    assert_non_null(strstr(result.errors, name));
    assert_non_null(strstr(result.errors, "line 1: the model computed NaN or infinity"));
    result = run_clformer("a\n", process_format("translate --json -m %s", folder));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output, "\"error\":\"the model computed NaN or infinity"));
    result = run_clformer("a\n", process_format("translate --quiet -m %s", folder));
    assert_int_equal(process_count(result.errors, "clformer: warning: "), 0);
    result = run_clformer(NULL, process_format("attend -m %s -o %s/page a", folder, folder));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "the model computed NaN or infinity"));
    process_write(folder, "target", "a\n", 2);
    result = run_clformer("a\n", process_format("score -m %s - %s/target", folder, folder));
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "\n");
    assert_non_null(strstr(result.errors, "line 1: the model computed NaN or infinity"));
}

/* Fails unless every line of a help text fits the width, in characters. */
static void check_width(const char *verb, const char *text)
{
    enum { MOST_COLUMNS = 100 };
    int column = 0;
    for (const char *c = text; *c; c++) {
        column = *c == '\n' ? 0 : column + (((unsigned char)*c & 0xc0) != 0x80);
        if (column > MOST_COLUMNS) {
            fail_msg("the help of %s has a line of more than %d columns, with \"%.20s\"", verb,
                     (int)MOST_COLUMNS, c - 20);
        }
    }
}

/* Fails unless every flag with a value shows its default in brackets; returns the count. */
static int check_defaults(const char *verb, const char *text)
{
    int count = 0;
    for (const char *row = strstr(text, "--"); row; row = strstr(row + 1, "--")) {
        int is_row = row - text > 6 && row[-7] == '\n' && row[-6] == ' ';
        const char *value = row + strcspn(row, " \n");
        if (!is_row || value[0] != ' ' || value[1] == ' ') {
            continue; /* in a sentence, or without a value */
        }
        const char *end = strchr(row, '\n');
        while (strncmp(end, "\n          ", 11) == 0) { /* its next line */
            end = strchr(end + 1, '\n');
        }
        if (end[-1] != ')' && memchr(row, '(', (size_t)(end - row)) == NULL) {
            fail_msg("the help of %s has no default for %.*s", verb, (int)(value - row), row);
        }
        count++;
    }
    return count;
}

static void test_help(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int values; /* flags that take one */
    } verbs[] = {{"devices", 0}, {"translate", 30}, {"transcribe", 30}, {"score", 7},
                 {"attend", 28}, {"inspect", 0},    {"selftest", 5},    {"bench", 14},
                 {"train", 50},  {"curves", 1},     {"average", 2},     {"convert", 2},
                 {"bleu", 1},    {"tune", 7},       {"serve", 30},      {"wer", 0}};
    struct process_result all = run_clformer(NULL, "--help");
    assert_int_equal(all.status, 0);
    check_width("clformer", all.output);
    size_t count = 0;
    for (const char *const *each = process_verbs(); *each != NULL; each++) {
        count++;
    }
    assert_int_equal(sizeof verbs / sizeof *verbs, count); /* a new verb needs a row */
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *verb = verbs[i].name;
        assert_non_null(strstr(all.output, process_format("\n  %s ", verb)));
        struct process_result result = run_clformer(NULL, process_format("%s --help", verb));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.errors, "");
        assert_non_null(strstr(result.output, process_format("Usage: clformer %s", verb)));
        assert_non_null(strstr(result.output, "Example:\n"));
        check_width(verb, result.output);
        assert_in_range(check_defaults(verb, result.output), verbs[i].values, 2 * verbs[i].values);
        struct process_result other = run_clformer(NULL, process_format("help %s", verb));
        assert_output(other, result.output);
    }
    struct process_result bench = run_clformer(NULL, "bench --help"); /* a long list of choices is not cut */
    assert_non_null(
        strstr(bench.output,
               "--stage encode|translate|score|serve|transcribe|train|step|ops|gemm|attention|start\n"));
    struct process_result version = run_clformer(NULL, "--version");
    assert_int_equal(strncmp(version.output, "clformer 0.", 11), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_full_disk, support_teardown),
        cmocka_unit_test_teardown(test_closed_pipe_is_quiet, support_teardown),
        cmocka_unit_test_teardown(test_closed_descriptors, support_teardown),
        cmocka_unit_test_teardown(test_clblast_in_int8, support_teardown),
        cmocka_unit_test_teardown(test_interrupt, support_teardown),
        cmocka_unit_test_teardown(test_interrupt_in_compilation, support_teardown),
        cmocka_unit_test_teardown(test_interrupt_at_once, support_teardown),
        cmocka_unit_test_teardown(test_ignored_signals, support_teardown),
        cmocka_unit_test_teardown(test_cache, support_teardown),
        cmocka_unit_test_teardown(test_nan_weights, support_teardown),
        cmocka_unit_test_teardown(test_help, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
