/* Messages, signals, and the end of standard output. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "command.h"

static volatile sig_atomic_t interrupted;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void signals_catch(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop,
                               .sa_flags = (int)SA_RESETHAND}; /* a second one kills */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

int signals_interrupted(void *unused)
{
    (void)unused;
    return interrupted != 0;
}

int report_failure(clf_status status)
{
    fprintf(stderr, "clformer: %s\n", clf_last_error());
    return status == CLF_BAD_ARGUMENT ? EXIT_WRONG_CALL : EXIT_FAILED;
}

int report_wrong_call(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "clformer: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    return EXIT_WRONG_CALL;
}

static void print_message(void *user, clf_log_level level, const char *message)
{
    const struct flags *flags = user;
    if (level == CLF_LOG_WARNING ? !flags->quiet : flags->verbose) {
        fprintf(stderr, "clformer: %s%s\n", level == CLF_LOG_WARNING ? "warning: " : "", message);
    }
}

void log_to_stderr(const struct flags *flags)
{
    clf_log_set(print_message, (void *)flags);
}

int output_failed(void)
{
    return ferror(stdout);
}

int output_finish(int status)
{
    errno = 0;
    int failed = ferror(stdout);
    int flush_failed = fflush(stdout) != 0;
    if (!failed && !flush_failed) {
        return status;
    }
    if (errno != EPIPE && errno != 0) {
        fprintf(stderr, "clformer: standard output cannot be written: %s\n", strerror(errno));
    }
    return EXIT_FAILED;
}
