/* Names and tokens in a model's files are escaped on terminals, and unchanged in pipes. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"

#define ESCAPE "\033]0;title\007"
#define SHOWN  "\\x1b]0;title\\x07"

enum { MOST_WORDS = 16 };

/* Starts the command with standard output and error on a new terminal, and standard input from `input`, or -1
 * from the terminal as well; returns the terminal's other side. */
static int start_on_terminal(pid_t *child, int input, const char *arguments)
{
    char *words[MOST_WORDS + 1];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    process_split(words, MOST_WORDS, process_format("%s/clformer %s", CLF_BUILD_FOLDER, arguments));
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    *child = fork();
    if (*child == 0) {
        dup2(input >= 0 ? input : slave, STDIN_FILENO);
        dup2(slave, STDOUT_FILENO);
        dup2(slave, STDERR_FILENO);
        process_set_environment();
        execv(words[0], words);
        _exit(127);
    }
    close(slave);
    return master;
}

/* Returns everything that the terminal shows until the command ends; *status is its exit status. */
static char *read_terminal(int master, pid_t child, int *status)
{
    size_t size = 0, capacity = 1 << 20;
    char *text = support_array(capacity, 1);
    for (ssize_t got; (got = read(master, text + size, capacity - 1 - size)) > 0;) {
        size += (size_t)got;
    }
    close(master);
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return text;
}

/* Returns standard output and error of the command on one terminal, with input from a pipe. */
static char *run_on_terminal(const char *input, int *status, const char *arguments)
{
    int ends[2];
    pid_t child;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], input, strlen(input)), (int)strlen(input));
    close(ends[1]);
    int master = start_on_terminal(&child, ends[0], arguments);
    close(ends[0]);
    return read_terminal(master, child, status);
}

/* The tiny model, whose tokens are w2 to w27, with an escape sequence in each name. */
static const char *make_model(void)
{
    const char *source = support_fixture("models/marian"), *folder = process_model_copy(source);
    size_t size, used = 0;
    const char *vocabulary = process_read(folder, "vocab.json", &size);
    char *changed = support_array(size * 12 + 1, 1);
    for (const char *c = vocabulary; *c; c++) {
        const char *part = strncmp(c, "\"w", 2) == 0 ? "\"\\u001b]0;title\\u0007" : NULL;
        for (const char *p = part ? part : (char[]){*c, '\0'}; *p; p++) {
            changed[used++] = *p;
        }
    }
    process_write(folder, "vocab.json", changed, used);
    return folder;
}

static void test_translations(void **state)
{
    (void)state;
    const char *folder = make_model();
    static const char input[] = ESCAPE "2 " ESCAPE "3 " ESCAPE "4\n";
    const char *arguments = process_format("translate -m %s --tokens -q", folder);
    struct process_result result = run_clformer(input, arguments);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, ESCAPE)); /* byte for byte */
    int status;
    const char *text = run_on_terminal(input, &status, arguments);
    assert_int_equal(status, 0);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, SHOWN));
    text = run_on_terminal(input, &status, process_format("%s --json", arguments));
    assert_int_equal(status, 0);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "\\u001B]0;title\\u0007"));
}

/* An unknown tensor whose name must not reach a terminal. */
static const char *make_named_tensor(void)
{
    const char *folder = process_model_copy(support_fixture("models/marian"));
    size_t size, length = 0;
    char *bytes = process_read(folder, "model.safetensors", &size);
    for (int i = 0; i < 8; i++) {
        length |= (size_t)(unsigned char)bytes[i] << 8 * i;
    }
    static const char entry[] = "{\"x\\u001b]0;title\\u0007\\u202e\":{\"dtype\":\"F32\",\"shape\":[0],"
                                "\"data_offsets\":[0,0]},";
    size_t more = sizeof entry - 2; /* one brace replaces the other */
    char *changed = support_array(size + more, 1);
    for (int i = 0; i < 8; i++) {
        changed[i] = (char)((length + more) >> 8 * i);
    }
    memcpy(changed + 8, entry, sizeof entry - 1);
    memcpy(changed + 8 + sizeof entry - 1, bytes + 9, size - 9);
    process_write(folder, "model.safetensors", changed, size + more);
    return folder;
}

static void test_inspect(void **state)
{
    (void)state;
    int status;
    const char *folder = make_named_tensor();
    const char *text = run_on_terminal("", &status, process_format("inspect %s", folder));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\u202e"));
    assert_non_null(strstr(text, SHOWN "\\u202e"));
}

static void test_messages(void **state)
{
    (void)state;
    /* Always escaped on standard error: a file of it may be shown later. */
    static const char *const calls[] = {
        "inspect /no/such" ESCAPE, "curves /no/such" ESCAPE " -o -",
        "bleu /no/such" ESCAPE,    "translate -m x --no-such" ESCAPE,
        "no-verb" ESCAPE,          "translate -m /no/such --device " ESCAPE,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct process_result result = run_clformer("", calls[i]);
        assert_true(result.status == 1 || result.status == 2);
        assert_null(strchr(result.errors, '\033'));
        assert_non_null(strstr(result.errors, SHOWN));
        int status;
        const char *text = run_on_terminal("", &status, calls[i]);
        assert_int_equal(status, result.status);
        assert_null(strchr(text, '\033'));
        assert_non_null(strstr(text, SHOWN));
    }
}

/* Multi-byte characters stay whole across the tokens of a stream. */
static void test_long_texts(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    size_t size = 0, count = 3000;
    char *log = support_array(count * 4 + 200, 1);
    size += (size_t)sprintf(log, "{\"update\":1,\"epoch\":1,\"loss\":2,\"start\":{\"a\":\"");
    for (size_t i = 0; i < count; i++) {
        size += (size_t)sprintf(log + size, "%s", i % 2 ? "漢" : "é");
    }
    size += (size_t)sprintf(log + size, "\"}}\n");
    process_write(folder, "log", log, size);
    int status;
    const char *text = run_on_terminal("", &status, process_format("curves %s/log -o -", folder));
    assert_int_equal(status, 0);
    assert_int_equal(process_count(text, "é漢"), count / 2);
}

/* One line of advice if the command waits for typed input; not with -q or pipes. */
static void test_advice(void **state)
{
    (void)state;
    enum { PATIENCE = 120000 }; /* milliseconds */
    static const char advice[] = "press Ctrl-D on an empty line to end";
    char shown[4096] = "";
    size_t size = 0;
    pid_t child;
    int status, master = start_on_terminal(&child, -1, "translate -m " DEMO_MODEL);
    struct pollfd poll_master = {.fd = master, .events = POLLIN};
    while (strstr(shown, advice) == NULL && size < sizeof shown - 1 && poll(&poll_master, 1, PATIENCE) > 0) {
        ssize_t got = read(master, shown + size, sizeof shown - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
        shown[size] = '\0';
    }
    assert_non_null(strstr(shown, advice));
    assert_int_equal(write(master, "Merci.\n\004", 8), 8);
    const char *rest = read_terminal(master, child, &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(rest, "Thanks."));
    assert_null(strstr(rest, advice));
    assert_null(strstr(run_on_terminal("Merci.\n", &status, "translate -m " DEMO_MODEL), advice));
    master = start_on_terminal(&child, -1, "translate -q -m " DEMO_MODEL);
    assert_int_equal(write(master, "\004", 1), 1);
    assert_null(strstr(read_terminal(master, child, &status), advice));
}

/* An interrupted bench reports its measurements so far. */
static void test_interrupted_bench(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char shown[1 << 14] = "";
    size_t length = 0;
    pid_t child;
    int status, master = start_on_terminal(
                    &child, -1, process_format("bench -d 0 --gemm native --html %s/page.html", folder));
    while (strstr(shown, ", row 3") == NULL && length < sizeof shown - 1) { /* the third is being measured */
        ssize_t got = read(master, shown + length, sizeof shown - 1 - length);
        assert_true(got > 0);
        length += (size_t)got;
        shown[length] = '\0';
    }
    assert_int_equal(kill(child, SIGINT), 0);
    const char *rest = read_terminal(master, child, &status);
    assert_int_equal(status, -1); /* ended by the signal */
    assert_non_null(strstr(rest, "the report contains the rows measured before the interrupt"));
    assert_non_null(strstr(rest, "GFLOP/s of FMA"));
    const char *page = process_read(folder, "page.html", &length);
    assert_int_equal(process_count(page, "\"work\":\"peaks\""), 1);
    assert_true(process_count(page, "\"work\":\"op\"") >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translations, support_teardown),
        cmocka_unit_test_teardown(test_inspect, support_teardown),
        cmocka_unit_test_teardown(test_messages, support_teardown),
        cmocka_unit_test_teardown(test_long_texts, support_teardown),
        cmocka_unit_test_teardown(test_advice, support_teardown),
        cmocka_unit_test_teardown(test_interrupted_bench, support_teardown),
    };
    return cmocka_run_group_tests_name("end_to_end/terminal", tests, NULL, NULL);
}
