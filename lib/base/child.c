#define _GNU_SOURCE /* pipe2() */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/interrupt.h"

/* Starts the program with the writing end of a pipe as standard output. */
static int start(pid_t *process, const char *const *arguments, int writing_end)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(&actions, writing_end, STDOUT_FILENO);
    }
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (error == 0) { /* the arguments are not changed */
        error = posix_spawn(process, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments,
                            clf__environment_all());
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Appends what the pipe contains and drops the oldest bytes if there is no space. Returns 0 at the end. */
static int read_output(int pipe, char *output, size_t size)
{
    char bytes[512];
    ssize_t got = read(pipe, bytes, sizeof bytes);
    if (got < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    size_t added = (size_t)got < size - 1 ? (size_t)got : size - 1, used = strlen(output);
    for (ssize_t i = 0; i < got; i++) { /* the output is a string */
        bytes[i] = (char)(bytes[i] == '\0' ? ' ' : bytes[i]);
    }
    size_t dropped = used + added > size - 1 ? used + added - (size - 1) : 0;
    memmove(output, output + dropped, used - dropped);
    memcpy(output + used - dropped, bytes + (size_t)got - added, added);
    output[used - dropped + added] = '\0';
    return got > 0;
}

/* Reads until the program has closed its output and ended. *end receives its end. */
static clf_status follow(struct clf__child_end *end, char *output, size_t size, pid_t process, int pipe,
                         double seconds)
{
    enum { STEP_MS = 10 };
    clf_status status = CLF_OK;
    double limit = clf__seconds() + seconds;
    int is_open = 1, is_killed = 0, wait_status = 0;
    for (;;) {
        struct pollfd ready = {.fd = is_open ? pipe : -1, .events = POLLIN};
        pid_t ended = 0;
        if (poll(&ready, 1, STEP_MS) > 0) {
            is_open = read_output(pipe, output, size);
        } else {
            ended = waitpid(process, &wait_status, WNOHANG);
        }
        if (ended == process || (ended < 0 && errno != EINTR)) {
            end->status = ended == process && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
            end->signal = ended == process && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
            return status;
        }
        status = status == CLF_OK ? clf__interrupt_check() : status;
        end->timed_out |= clf__seconds() > limit && !is_killed;
        if ((end->timed_out || status != CLF_OK) && !is_killed) {
            kill(process, SIGKILL);
            is_killed = 1;
        }
    }
}

clf_status clf__child_run(struct clf__child_end *end, char *output, size_t size, const char *const *arguments,
                          double seconds)
{
    int ends[2];
    pid_t process;
    *end = (struct clf__child_end){.status = -1};
    *output = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return clf__fail(CLF_FILE, "%s: cannot be started: no pipe: %s", arguments[0], strerror(errno));
    }
    int error = start(&process, arguments, ends[1]);
    close(ends[1]);
    clf_status status = error == 0
                            ? follow(end, output, size, process, ends[0], seconds)
                            : clf__fail(CLF_FILE, "%s: cannot be started: %s", arguments[0], strerror(error));
    close(ends[0]);
    return status;
}
