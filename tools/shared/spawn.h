/* Runs another process and reads its output line by line. */
#ifndef CLF_TOOLS_SPAWN_H
#define CLF_TOOLS_SPAWN_H

#include <stddef.h>

/* Receives each line of standard output without its newline; may modify it. */
typedef void spawn_line(void *user, char *line);

struct spawn {
    char *const *arguments;  /* arguments of execv(), starting with the path of the program */
    const char *input;       /* text for standard input; NULL: none */
    const char *environment; /* an additional "NAME=value", or NULL */
    double seconds;          /* time limit */
    spawn_line *line;        /* NULL: discard the output */
    void *user;
};

/* How a process ended. */
struct spawn_end {
    int status;           /* exit status; -1 if a signal ended the process */
    int signal;           /* signal that ended the process, or 0 */
    int timed_out;        /* stopped after the time limit */
    double seconds;       /* from the start to the end of the process */
    long long peak_bytes; /* maximum memory */
    char last_error[512]; /* the last line of standard error, without "clformer: " */
};

/* Runs a process until it ends or the user interrupts. Returns EXIT_FAILED and reports an error if the
 * process cannot be started. */
int spawn_run(const struct spawn *spawn, struct spawn_end *end);

#endif
