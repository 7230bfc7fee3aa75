/* Running the command as a child process. */
#ifndef CLF_TESTS_SUPPORT_PROCESS_H
#define CLF_TESTS_SUPPORT_PROCESS_H

#include <stddef.h>
#include <stdio.h>

#include "support/support.h"

#define DEMO_MODEL CLF_SOURCE_FOLDER "/tools/models/fr-en-small"

/* What a run gave; the strings end in NUL and live until support_free_all(). */
struct process_result {
    int status; /* exit status, or 128 + the signal that ended it */
    char *output, *errors;
    size_t output_size, errors_size;
    int notices; /* lines about compiling kernels, left out of errors: whether there are any is the cache's
                    affair */
};

struct process {
    const char *input;       /* of standard input; NULL: none */
    size_t input_size;       /* 0: strlen(input) */
    int input_descriptor;    /* standard input in place of `input`, or 0; closed */
    const char *program;     /* in place of build/clformer; NULL: that */
    const char *launcher;    /* words before the program, as mpirun and its flags; NULL: none */
    const char *environment; /* one "NAME=value" more, or NULL */
    const char *output_path; /* standard output goes there, or NULL */
    int keeps_kernels;       /* in our own cache: by default only the driver's is used */
    int has_closed_output;   /* standard output is a pipe that nobody reads */
    int closed[3];           /* standard input, output and error are not open at all */
    int signal_when_started; /* sent once the process has written to standard error, with its input still open
                              */
};

/* Splits words in place at single spaces, but for those of the source and the build folder; "\x1f" becomes a
 * space. argv gets at most `most` of them and a NULL; returns how many. */
int process_split(char **argv, int most, char *words);

/* The path of a library of the build's tests, without spaces, which LD_PRELOAD takes for separators. */
const char *process_library(const char *name);

/* Runs build/clformer, or `program`, with these arguments (split at single spaces; "\x1f" stands for a space
 * inside one). Kernels that a driver keeps are shared between runs, in $XDG_CACHE_HOME or below the build
 * folder. */
struct process_result process_run(const struct process *process, const char *arguments);

/* A command that runs beside the test, which writes to its standard input and reads its standard output. */
struct coprocess {
    int child, to, from;
    char *heard; /* and not handed out yet */
    size_t size;
    FILE *says;   /* what it writes to standard error */
    char *errors; /* the same, once it has ended */
};
struct coprocess coprocess_start(const char *arguments);
/* The same with a program, a launcher and an environment of its own. */
struct coprocess coprocess_start_by(const struct process *process, const char *arguments);
void coprocess_say(struct coprocess *coprocess, const char *text);
/* The next line, with its newline; fails where none comes within five minutes. Freed by support_free_all().
 */
char *coprocess_hear(struct coprocess *coprocess);
/* Closes its standard output, as a reader does that has enough. */
void coprocess_turn_away(struct coprocess *coprocess);
/* Closes both ends and waits; returns its exit status, or 128 + the signal that ended it. */
int coprocess_end(struct coprocess *coprocess);

/* What every child gets, for those that are started in another way. */
void process_set_environment(void);

/* process_run() of `arguments` with input and nothing else. */
struct process_result run_clformer(const char *input, const char *arguments);

/* Fails unless the run ended with `status`, wrote nothing, and said exactly one sentence that holds `part`.
 */
#define assert_refused(result, status, part)                                                                 \
    process_assert_refused(&(result), (status), (part), __FILE__, __LINE__)
void process_assert_refused(const struct process_result *result, int status, const char *part,
                            const char *file, int line);

/* Fails, showing what the run said, unless it ended with 0 and this output. */
#define assert_output(result, expected) process_assert_output(&(result), (expected), __FILE__, __LINE__)
void process_assert_output(const struct process_result *result, const char *expected, const char *file,
                           int line);

/* How often `part` occurs in a text. */
int process_count(const char *text, const char *part);

/* A temporary folder with links to every file of `model`, to be replaced one by one. */
const char *process_model_copy(const char *model);
/* Writes <folder>/<name> in place of what was there. */
void process_write(const char *folder, const char *name, const void *bytes, size_t size);
void process_remove(const char *folder, const char *name);
/* Reads a whole file; freed by support_free_all(). */
char *process_read(const char *folder, const char *name, size_t *size);
/* A formatted string; freed by support_free_all(). */
char *process_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a shell command, and returns its output and errors (up to 64 KiB, valid until the next call). Fails
 * the test and shows both if the status is not 0. */
char *process_shell(const char *command);

#endif
