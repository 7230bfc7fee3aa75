/* Running another process and reading what it prints, line by line. */
#ifndef CLF_TOOLS_SPAWN_H
#define CLF_TOOLS_SPAWN_H

#include <stddef.h>

/* Receives each line of standard output, without its newline; may change it. */
typedef void spawn_line(void *user, char *line);

struct spawn {
    char *const *arguments;  /* of execv(), the program's path first */
    const char *input;       /* for standard input; NULL: none */
    const char *environment; /* "NAME=value", one more; or NULL */
    double seconds;          /* it is ended after so long */
    spawn_line *line;        /* NULL: its output is dropped */
    void *user;
};

/* How a process ended. */
struct spawn_end {
    int status;           /* its exit status; -1 where it did not end by itself */
    int signal;           /* that ended it, or 0 */
    int timed_out;        /* it took longer than it may and was ended */
    double seconds;       /* from start to end */
    long long peak_bytes; /* of memory */
    char last_error[512]; /* the last line that it wrote to standard error, without "clformer: " */
};

/* Runs a process to its end, or until the user interrupts. Returns an exit status: EXIT_FAILED, reported,
 * where it could not be started. */
int spawn_run(const struct spawn *spawn, struct spawn_end *end);

#endif
