/* Error messages, signals, and the state of standard output. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/status.h"
#include "runtime/cluster/ranks.h"
#include "shared/command.h"

static atomic_int interrupted;          /* signal that interrupted the process, or 0 */
static atomic_int continued;            /* SIGCONT has arrived */
static atomic_int hung_up;              /* SIGHUP has arrived, see signals_keep_hangup() */
static int is_pipe_known, ends_by_pipe; /* SIGPIPE was not ignored at the start of the process */
static int is_output_closed;            /* the reader of standard output is gone */

/* A second signal, whichever it is, ends the process at once. */
static void ask_to_stop(int signal_number)
{
    if (interrupted != 0) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    interrupted = signal_number;
}

static void note_continued(int signal_number)
{
    (void)signal_number;
    continued = 1;
}

static void note_hangup(int signal_number)
{
    (void)signal_number;
    atomic_store(&hung_up, 1);
}

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOPS = sizeof stops / sizeof *stops };
static int is_caught[STOPS], keeps_hangup;

static void (*handler_of(int i))(int)
{
    return keeps_hangup && stops[i] == SIGHUP ? note_hangup : ask_to_stop;
}

static void catch_stop(int i)
{
    struct sigaction action = {.sa_handler = handler_of(i)};
    /* A second stop signal ends the process. */
    action.sa_flags = action.sa_handler == ask_to_stop ? (int)SA_RESETHAND : (int)SA_RESTART;
    sigaction(stops[i], &action, NULL);
}

/* Installs the handlers again. At its first compilation, LLVM replaces them with a handler that deletes the
 * files that LLVM is writing, which makes compilations fail. */
static void catch_again(void)
{
    for (int i = 0; i < STOPS; i++) {
        struct sigaction now;
        if (is_caught[i] && sigaction(stops[i], NULL, &now) == 0 && now.sa_handler != handler_of(i)) {
            catch_stop(i);
        }
    }
}

void signals_catch(int stops_work)
{
    for (int i = 0; stops_work && i < STOPS; i++) {
        struct sigaction old; /* inherited: nohup ignores SIGHUP, a shell without job control ignores SIGINT
                                 in the background */
        is_caught[i] = sigaction(stops[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN;
        if (is_caught[i]) {
            catch_stop(i);
        }
    }
    if (stops_work && clf__ranks_started()) {
        const struct sigaction note = {.sa_handler = note_continued};
        sigaction(SIGCONT, &note, NULL);
    }
    struct sigaction pipes, action = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, &action, &pipes) == 0 && !is_pipe_known) {
        is_pipe_known = 1;
        ends_by_pipe = pipes.sa_handler != SIG_IGN;
    }
}

void signals_keep_hangup(void)
{
    keeps_hangup = 1;
    for (int i = 0; i < STOPS; i++) {
        if (stops[i] == SIGHUP) {
            is_caught[i] = 1; /* even under nohup */
            catch_stop(i);
        }
    }
}

int signals_take_hangup(void)
{
    return atomic_exchange(&hung_up, 0);
}

int signals_interrupted(void *unused)
{
    (void)unused;
    if (interrupted == 0) {
        catch_again();
    }
    return interrupted != 0;
}

void signals_accept_stop(void)
{
    interrupted = interrupted == SIGTERM ? 0 : interrupted;
}

void signals_await_stop(void)
{
    enum { STEP_NANOSECONDS = 50000000, MOST_STEPS = 40 };
    if (!clf__ranks_started()) {
        return;
    }
    for (int i = 0; !signals_interrupted(NULL) && (i == 0 || continued) && i < MOST_STEPS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_NANOSECONDS}, NULL);
    }
    continued = 0;
}

void signals_end_quietly(int by_signal)
{
    ends_by_pipe &= by_signal;
}

int signals_finish(int status)
{
    if (interrupted == 0 && ends_by_pipe && is_output_closed) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (interrupted != 0) {
        signal(interrupted, SIG_DFL);
        raise(interrupted);
    }
    return status;
}

/* Prints the message only once, even if several calls fail. */
static int print_interrupted(const char *message)
{
    static int is_printed;
    if (!is_printed) {
        fprintf(stderr, "clformer: %s\n", message);
    }
    is_printed = 1;
    return EXIT_FAILED;
}

int report_interrupted(void)
{
    return print_interrupted("interrupted");
}

static failure_function *told_by; /* replaces standard error */

void failures_told_by(failure_function *report)
{
    told_by = report;
}

int report_failure(clf_status status)
{
    failure_function *report = told_by;
    told_by = NULL;
    if (report != NULL) {
        return report(status);
    }
    if (status == CLF_INTERRUPTED) {
        return print_interrupted(clf_last_error());
    }
    if (interrupted !=
        0) { /* the signal may have caused the failure: LLVM deletes the files that it is writing */
        return report_interrupted();
    }
    fprintf(stderr, "clformer: %s\n", clf_last_error());
    return status == CLF_BAD_ARGUMENT ? EXIT_WRONG_CALL : EXIT_FAILED;
}

int report_wrong_call(const char *format, ...)
{
    char sentence[CLF__ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 does not recognise va_start() */
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (told_by != NULL) {
        return report_failure(clf__fail(CLF_BAD_ARGUMENT, "%s", sentence));
    }
    fprintf(stderr, "clformer: %s\n", sentence);
    return EXIT_WRONG_CALL;
}

static atomic_int is_quiet, is_verbose; /* copies, because flags may end before a device does */

static void print_message(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level <= CLF_LOG_NOTICE ? !atomic_load(&is_quiet) : atomic_load(&is_verbose)) {
        fprintf(stderr, "clformer: %s%s\n", level == CLF_LOG_WARNING ? "warning: " : "", message);
    }
}

/* Hashes of printed messages; a message that shares its place with another one is printed again. */
static atomic_ullong printed[256];

static void log_by(clf_log_function *function, const struct flags *flags)
{
    atomic_store(&is_quiet, flags->quiet);
    atomic_store(&is_verbose, flags->verbose);
    clf_log_set(function, NULL);
}

static void print_once(clf_log_level level, const char *message, void *user)
{
    unsigned long long hash = clf__fnv(CLF__FNV_BEGIN, message, strlen(message));
    if (atomic_exchange(&printed[hash % (sizeof printed / sizeof *printed)], hash) != hash) {
        print_message(level, message, user);
    }
}

void log_once_to_stderr(const struct flags *flags)
{
    log_by(print_once, flags);
}

void log_to_stderr(const struct flags *flags)
{
    log_by(print_message, flags);
}

static int output_error; /* errno of the first failed write to standard output */

int output_failed(void)
{
    if (ferror(stdout) && output_error == 0) {
        output_error = errno;
    }
    return ferror(stdout);
}

/* Returns 1 if standard output is a pipe without a reader. */
static int output_closed(void)
{
    struct pollfd descriptor = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return output_error == EPIPE || (poll(&descriptor, 1, 0) > 0 && (descriptor.revents & POLLERR) != 0);
}

int output_finish(int status)
{
    if (!output_failed() && fflush(stdout) == 0) {
        return status;
    }
    output_failed();
    is_output_closed = output_closed();
    if (!is_output_closed) {
        fprintf(stderr, "clformer: standard output: cannot be written: %s\n", strerror(output_error));
    }
    return EXIT_FAILED;
}
