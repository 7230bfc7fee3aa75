#define _DEFAULT_SOURCE /* wait4() reports the memory of one child */

#include "shared/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/command.h"
#include "shared/progress.h"

enum { INPUT, OUTPUT, ERRORS, PIPES, READ_END = 0, WRITE_END = 1 };

/* A buffer for incomplete lines. */
struct line_buffer {
    char *bytes;
    size_t size, capacity;
};

static int close_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++) {
        for (int end = 0; end < 2; end++) {
            if (pipes[i][end] >= 0) {
                close(pipes[i][end]);
                pipes[i][end] = -1;
            }
        }
    }
    return -1;
}

/* Runs in the child and makes only calls that are safe after fork(). */
static void become(const struct spawn *spawn, int pipes[PIPES][2])
{
    dup2(pipes[INPUT][READ_END], STDIN_FILENO);
    dup2(pipes[OUTPUT][WRITE_END], STDOUT_FILENO);
    dup2(pipes[ERRORS][WRITE_END], STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execv(spawn->arguments[0], spawn->arguments);
    _exit(127);
}

static pid_t start(const struct spawn *spawn, int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++) {
        pipes[i][0] = pipes[i][1] = -1;
    }
    for (int i = 0; i < PIPES; i++) {
        if (pipe(pipes[i]) != 0) {
            return close_pipes(pipes);
        }
        fcntl(pipes[i][0], F_SETFD, FD_CLOEXEC);
        fcntl(pipes[i][1], F_SETFD, FD_CLOEXEC);
    }
    const char *equals = spawn->environment != NULL ? strchr(spawn->environment, '=') : NULL;
    char name[64] = "";
    if (equals != NULL) { /* set before the fork; no other thread of this process reads it */
        snprintf(name, sizeof name, "%.*s", (int)(equals - spawn->environment), spawn->environment);
    }
    char *old = *name != '\0' && getenv(name) != NULL ? strdup(getenv(name)) : NULL;
    if (*name != '\0') {
        setenv(name, equals + 1, 1);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        become(spawn, pipes);
    }
    if (*name != '\0' && old != NULL) {
        setenv(name, old, 1);
    } else if (*name != '\0') {
        unsetenv(name);
    }
    free(old);
    if (child < 0) {
        return close_pipes(pipes);
    }
    close(pipes[INPUT][READ_END]);
    close(pipes[OUTPUT][WRITE_END]);
    close(pipes[ERRORS][WRITE_END]);
    pipes[INPUT][READ_END] = pipes[OUTPUT][WRITE_END] = pipes[ERRORS][WRITE_END] = -1;
    return child;
}

static void keep_error(void *user, char *line)
{
    struct spawn_end *end = user;
    static const char prefix[] = "clformer: ";
    if (strncmp(line, prefix, strlen(prefix)) == 0) {
        line += strlen(prefix);
    }
    snprintf(end->last_error, sizeof end->last_error, "%s", line);
}

/* Reads available data and passes on whole lines. Returns 0 at the end of the pipe. */
static int take(struct line_buffer *buffer, int descriptor, spawn_line *function, void *user)
{
    if (buffer->capacity - buffer->size < 4096) {
        char *grown = realloc(buffer->bytes, 2 * buffer->capacity + 8192);
        if (grown == NULL) {
            return 0;
        }
        buffer->bytes = grown;
        buffer->capacity = 2 * buffer->capacity + 8192;
    }
    ssize_t count = read(descriptor, buffer->bytes + buffer->size, buffer->capacity - buffer->size - 1);
    if (count < 0 && errno == EINTR) {
        return 1;
    }
    buffer->size += count > 0 ? (size_t)count : 0;
    if (count <= 0 && buffer->size > 0) { /* a last line without a newline */
        buffer->bytes[buffer->size++] = '\n';
    }
    char *first = buffer->bytes, *newline;
    while ((newline = memchr(first, '\n', buffer->size - (size_t)(first - buffer->bytes))) != NULL) {
        *newline = '\0';
        if (function != NULL) {
            function(user, first);
        }
        first = newline + 1;
    }
    buffer->size -= (size_t)(first - buffer->bytes);
    memmove(buffer->bytes, first, buffer->size);
    return count > 0;
}

/* Reads both outputs until they end; stops the process after the time limit or on an interrupt. */
static void follow(const struct spawn *spawn, struct spawn_end *end, pid_t child, int pipes[PIPES][2])
{
    struct line_buffer buffers[PIPES] = {{NULL, 0, 0}};
    double begin = seconds_now();
    int is_open[PIPES] = {0, 1, 1}, asked = 0;
    while (is_open[OUTPUT] || is_open[ERRORS]) {
        struct pollfd events[2] = {{is_open[OUTPUT] ? pipes[OUTPUT][READ_END] : -1, POLLIN, 0},
                                   {is_open[ERRORS] ? pipes[ERRORS][READ_END] : -1, POLLIN, 0}};
        poll(events, 2, 100);
        if (events[0].revents != 0) {
            is_open[OUTPUT] = take(&buffers[OUTPUT], pipes[OUTPUT][READ_END], spawn->line, spawn->user);
        }
        if (events[1].revents != 0) {
            is_open[ERRORS] = take(&buffers[ERRORS], pipes[ERRORS][READ_END], keep_error, end);
        }
        double over = seconds_now() - begin - spawn->seconds;
        end->timed_out |= over > 0;
        if ((over > 0 || signals_interrupted(NULL)) && asked == 0) {
            kill(child, SIGTERM);
            asked = 1;
        } else if (over > 3 &&
                   asked == 1) { /* a driver that is compiling does not react to the first signal */
            kill(child, SIGKILL);
            asked = 2;
        }
    }
    free(buffers[OUTPUT].bytes);
    free(buffers[ERRORS].bytes);
}

int spawn_run(const struct spawn *spawn, struct spawn_end *end)
{
    int pipes[PIPES][2], status = 0;
    struct rusage usage;
    *end = (struct spawn_end){.status = -1};
    double begin = seconds_now();
    pid_t child = start(spawn, pipes);
    if (child < 0) {
        fprintf(stderr, "clformer: %s: cannot be run: %s\n", spawn->arguments[0], strerror(errno));
        return EXIT_FAILED;
    }
    for (size_t size = spawn->input != NULL ? strlen(spawn->input) : 0, done = 0; done < size;) {
        ssize_t count = write(pipes[INPUT][WRITE_END], spawn->input + done, size - done);
        if (count <= 0 && errno != EINTR) {
            break; /* the process ended before it read everything */
        }
        done += count > 0 ? (size_t)count : 0;
    }
    close(pipes[INPUT][WRITE_END]);
    pipes[INPUT][WRITE_END] = -1;
    follow(spawn, end, child, pipes);
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    end->seconds = seconds_now() - begin;
    end->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->peak_bytes = 1024LL * usage.ru_maxrss;
    close_pipes(pipes);
    return EXIT_DONE;
}
