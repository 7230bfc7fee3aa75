#include "support/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 128 };

char *process_format(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = support_array((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(arguments);
    va_end(again);
    return text;
}

static char *read_stream(FILE *file, size_t *size)
{
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = support_array(*size + 1, 1);
    assert_int_equal(fread(text, 1, *size, file), *size);
    return text;
}

char *process_read(const char *folder, const char *name, size_t *size)
{
    FILE *file = fopen(process_format("%s/%s", folder, name), "rb");
    assert_non_null(file);
    char *text = read_stream(file, size);
    fclose(file);
    return text;
}

void process_remove(const char *folder, const char *name)
{
    assert_int_equal(unlink(process_format("%s/%s", folder, name)), 0);
}

void process_write(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = process_format("%s/%s", folder, name);
    unlink(path); /* a link is replaced, so that its target does not change */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

const char *process_model_copy(const char *model)
{
    const char *folder = support_temporary_folder();
    DIR *files = opendir(model);
    assert_non_null(files);
    for (struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
        if (entry->d_name[0] != '.') {
            assert_int_equal(symlink(process_format("%s/%s", model, entry->d_name),
                                     process_format("%s/%s", folder, entry->d_name)),
                             0);
        }
    }
    closedir(files);
    return folder;
}

/* Protects the spaces of a folder's path from being split. */
static void keep_spaces(char *words, const char *folder)
{
    size_t size = strlen(folder);
    for (char *at = words; (at = strstr(at, folder)) != NULL; at += size) {
        for (size_t i = 0; i < size; i++) {
            at[i] = at[i] == ' ' ? '\x1f' : at[i];
        }
    }
}

int process_split(char **argv, int most, char *words)
{
    int count = 0;
    keep_spaces(words, CLF_BUILD_FOLDER);
    keep_spaces(words, CLF_SOURCE_FOLDER);
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        assert_true(count < most);
        for (char *c = word; *c; c++) {
            *c = *c == '\x1f' ? ' ' : *c;
        }
        argv[count++] = word;
    }
    argv[count] = NULL;
    return count;
}

const char *process_library(const char *name)
{
    char *link = process_format("%s/%s", support_temporary_folder(), name);
    assert_int_equal(symlink(process_format("%s/tests/%s", CLF_BUILD_FOLDER, name), link), 0);
    return link;
}

/* Builds the argument list: launcher, program, arguments. */
static void split(char **argv, const struct process *process, const char *arguments)
{
    const char *program =
        process->program ? process->program : process_format("%s/clformer", CLF_BUILD_FOLDER);
    const char *launcher = process->launcher ? process->launcher : "";
    process_split(argv, MAX_ARGUMENTS - 1, process_format("%s %s %s", launcher, program, arguments));
}

void process_set_environment(void)
{
    setenv("XDG_CACHE_HOME", CLF_BUILD_FOLDER "/test-cache", 0);
    /* PoCL also uses XDG_CACHE_HOME; with this variable, its cache stays in place when a test moves
     * clformer's. */
    setenv("POCL_CACHE_DIR", process_format("%s/pocl", getenv("XDG_CACHE_HOME")), 0);
    /* Ignores leaks in PoCL's compiler. */
    setenv("LSAN_OPTIONS", "print_suppressions=0:suppressions=" CLF_SOURCE_FOLDER "/tests/support/leaks.txt",
           0);
}

/* Runs in the child: sets descriptors and environment, then executes the command. */
static void execute(const struct process *process, char **argv, const int descriptors[3])
{
    for (int i = 0; i < 3; i++) {
        dup2(descriptors[i], i);
    }
    for (int i = 0; i < 3; i++) {
        if (process->closed[i]) {
            close(i);
        }
    }
    process_set_environment();
    if (process->keeps_kernels) {
        unsetenv("CLFORMER_CACHE_BYTES");
    }
    if (process->environment) {
        putenv((char *)process->environment);
    }
    execvp(argv[0], argv);
    _exit(127);
}

static FILE *open_temporary(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fcntl(fileno(file), F_SETFD, FD_CLOEXEC);
    return file;
}

/* Opens a pipe whose ends are closed when the child executes the command. Both ends are -1 if no pipe is
 * wanted. */
static void open_pipe(int ends[2], int wanted)
{
    ends[0] = ends[1] = -1;
    if (wanted) {
        assert_int_equal(pipe(ends), 0);
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    }
}

static void close_end(int *end)
{
    if (*end >= 0) {
        close(*end);
    }
    *end = -1;
}

/* Waits for the first output on the pipe, sends the signal, and collects the remaining output. */
static void signal_and_collect(pid_t child, int number, int from, FILE *errors)
{
    char bytes[512];
    ssize_t count = read(from, bytes, sizeof bytes);
    assert_true(count > 0);
    kill(child, number);
    while (count > 0) {
        fwrite(bytes, 1, (size_t)count, errors);
        count = read(from, bytes, sizeof bytes);
    }
    fflush(errors);
}

static int wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Prints a sanitizer's report about the child, because the exit status does not explain the failure. */
static void show_sanitizer(const char *errors)
{
    if (strstr(errors, "Sanitizer") != NULL) {
        print_error("%s\n", errors);
    }
}

/* Removes messages about compiling kernels from the errors. */
static void take_notices(struct process_result *result)
{
    static const char *const notices[] = {"clformer: compiling kernels for device ",
                                          "clformer: writing compiled kernels to "};
    for (int i = 0; i < 2; i++) {
        for (char *found; (found = strstr(result->errors, notices[i])) != NULL;) {
            const char *rest = found + strcspn(found, "\n");
            rest += *rest == '\n';
            result->errors_size -= (size_t)(rest - found);
            memmove(found, rest, strlen(rest) + 1);
            result->notices++;
        }
    }
}

struct process_result process_run(const struct process *process, const char *arguments)
{
    char *argv[MAX_ARGUMENTS];
    split(argv, process, arguments);
    FILE *input = open_temporary(), *output = open_temporary(), *errors = open_temporary();
    if (process->input) {
        size_t size = process->input_size ? process->input_size : strlen(process->input);
        assert_int_equal(fwrite(process->input, 1, size, input), size);
        assert_int_equal(fflush(input), 0);
        rewind(input);
    }
    int waits = process->signal_when_started != 0, in[2], out[2], err[2];
    open_pipe(in, waits);
    open_pipe(out, process->has_closed_output);
    open_pipe(err, waits);
    int path = process->output_path ? open(process->output_path, O_WRONLY | O_CLOEXEC) : -1;
    close_end(&out[0]);
    int given = process->input_descriptor > 0 ? process->input_descriptor : -1;
    int descriptors[3] = {given >= 0 ? given
                          : waits    ? in[0]
                                     : fileno(input),
                          path >= 0                    ? path
                          : process->has_closed_output ? out[1]
                                                       : fileno(output),
                          waits ? err[1] : fileno(errors)};
    pid_t child = fork();
    if (child == 0) {
        execute(process, argv, descriptors);
    }
    assert_true(child > 0);
    close_end(&out[1]);
    close_end(&err[1]);
    close_end(&in[0]);
    close_end(&path);
    close_end(&given);
    if (waits) {
        signal_and_collect(child, process->signal_when_started, err[0], errors);
    }
    struct process_result result = {.status = wait_for(child)};
    close_end(&in[1]);
    close_end(&err[0]);
    result.output = read_stream(output, &result.output_size);
    result.errors = read_stream(errors, &result.errors_size);
    show_sanitizer(result.errors);
    take_notices(&result);
    fclose(input);
    fclose(output);
    fclose(errors);
    return result;
}

struct process_result run_clformer(const char *input, const char *arguments)
{
    struct process process = {.input = input};
    return process_run(&process, arguments);
}

const char *const *process_verbs(void)
{
    enum { MOST_VERBS = 64 };
    const char **verbs = support_array(MOST_VERBS + 1, sizeof *verbs);
    int count = 0;
    char *help = run_clformer(NULL, "--help").output, *examples = strstr(help, "\nExamples:");
    assert_non_null(examples);
    *examples = '\0';
    for (char *line; (line = strtok_r(help, "\n", &help)) != NULL;) {
        if (strncmp(line, "  ", 2) == 0) { /* indented: the verb and its summary */
            assert_true(count < MOST_VERBS);
            line[2 + strcspn(line + 2, " ")] = '\0';
            verbs[count++] = line + 2;
        }
    }
    assert_true(count > 0);
    return verbs;
}

struct coprocess coprocess_start(const char *arguments)
{
    return coprocess_start_by(&(struct process){.input = NULL}, arguments);
}

struct coprocess coprocess_start_by(const struct process *process, const char *arguments)
{
    char *argv[MAX_ARGUMENTS];
    split(argv, process, arguments);
    int in[2], out[2];
    open_pipe(in, 1);
    open_pipe(out, 1);
    FILE *error_file = open_temporary();
    int descriptors[3] = {in[0], out[1], fileno(error_file)};
    pid_t child = fork();
    if (child == 0) {
        execute(process, argv, descriptors);
    }
    assert_true(child > 0);
    close_end(&in[0]);
    close_end(&out[1]);
    enum { MOST_RECEIVED = 1 << 16 };
    return (struct coprocess){child, in[1], out[0], support_array(MOST_RECEIVED, 1), 0, error_file, NULL};
}

void coprocess_write(struct coprocess *coprocess, const char *text)
{
    assert_int_equal(write(coprocess->to, text, strlen(text)), (ssize_t)strlen(text));
}

char *coprocess_read_line(struct coprocess *coprocess)
{
    while (memchr(coprocess->received, '\n', coprocess->size) == NULL) {
        struct pollfd answer = {.fd = coprocess->from, .events = POLLIN};
        if (poll(&answer, 1, 300000) != 1) {
            kill(coprocess->child, SIGKILL);
            fail_msg("the command wrote no line for five minutes");
        }
        ssize_t count = read(coprocess->from, coprocess->received + coprocess->size, 4096);
        assert_true(count > 0);
        coprocess->size += (size_t)count;
    }
    size_t length =
        (size_t)((char *)memchr(coprocess->received, '\n', coprocess->size) - coprocess->received) + 1;
    char *line = process_format("%.*s", (int)length, coprocess->received);
    coprocess->size -= length;
    memmove(coprocess->received, coprocess->received + length, coprocess->size);
    return line;
}

void coprocess_close_output(struct coprocess *coprocess)
{
    close_end(&coprocess->from);
}

int coprocess_end(struct coprocess *coprocess)
{
    close_end(&coprocess->to);
    close_end(&coprocess->from);
    int status = wait_for(coprocess->child);
    size_t size;
    coprocess->errors = read_stream(coprocess->error_file, &size);
    show_sanitizer(coprocess->errors);
    fclose(coprocess->error_file);
    return status;
}

int process_count(const char *text, const char *part)
{
    int count = 0;
    for (const char *found = strstr(text, part); found; found = strstr(found + 1, part)) {
        count++;
    }
    return count;
}

void process_assert_refused(const struct process_result *result, int status, const char *part,
                            const char *file, int line)
{
    size_t length = strlen(result->errors);
    int is_one_sentence = strncmp(result->errors, "clformer: ", 10) == 0 && length > 10 &&
                          strchr(result->errors, '\n') == result->errors + length - 1;
    if (result->status != status || result->output_size > 0 || !is_one_sentence ||
        strstr(result->errors, part) == NULL) {
        print_error(
            "expected status %d, no output and one sentence with \"%s\"; got %d, %zu bytes and:\n%s\n",
            status, part, result->status, result->output_size, result->errors);
        _fail(file, line);
    }
}

void process_assert_output(const struct process_result *result, const char *expected, const char *file,
                           int line)
{
    if (result->status != 0 || strcmp(result->output, expected) != 0) {
        print_error("expected status 0 and:\n%s\ngot %d and:\n%s\nand on standard error:\n%s\n", expected,
                    result->status, result->output, result->errors);
        _fail(file, line);
    }
}

char *process_shell(const char *command)
{
    static char output[1 << 16];
    FILE *pipe = popen(process_format("{ %s; } 2>&1", command), "r");
    assert_non_null(pipe);
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    if (pclose(pipe) != 0) {
        fail_msg("%s\n%s", command, output);
    }
    return output;
}
