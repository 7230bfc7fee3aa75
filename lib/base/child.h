/* Runs another program and reads its output. */
#ifndef CLF_BASE_CHILD_H
#define CLF_BASE_CHILD_H

#include <stddef.h>

#include "base/status.h"

/* How a process ended. */
struct clf__child_end {
    int status;    /* exit status; -1 if a signal ended the process, or if the status is unknown because the
                    * calling program waits for all of its children */
    int signal;    /* signal that ended the process, or 0 */
    int timed_out; /* the process was killed after the time limit */
};

/* Runs a program until it ends, for at most `seconds`. Does not use fork(), which is unsafe after OpenCL has
 * been used. Standard input and standard error of the program are /dev/null.
 *
 * arguments: the path of the program and its arguments, terminated by NULL. output: receives the end of the
 * program's standard output as a string of at most size - 1 bytes. Returns CLF_FILE if the program cannot be
 * started, CLF_INTERRUPTED after an interrupt; the program has ended in every case. */
clf_status clf__child_run(struct clf__child_end *end, char *output, size_t size, const char *const *arguments,
                          double seconds);

#endif
