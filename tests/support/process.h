/* Runs the command as a child process. */
#ifndef CLF_TESTS_SUPPORT_PROCESS_H
#define CLF_TESTS_SUPPORT_PROCESS_H

#include <stddef.h>
#include <stdio.h>

#include "support/support.h"

#define DEMO_MODEL CLF_SOURCE_FOLDER "/tools/models/fr-en-small"

/* Result of a run; strings are NUL-terminated and live until support_free_all(). */
struct process_result {
    int status; /* exit status, or 128 + the signal that ended it */
    char *output, *errors;
    size_t output_size, errors_size;
    int notices; /* number of messages about compiling kernels, removed from errors because they depend on the
                    cache */
};

struct process {
    const char *input;       /* standard input; NULL: none */
    size_t input_size;       /* 0: strlen(input) */
    int input_descriptor;    /* standard input instead of `input`, or 0; closed afterwards */
    const char *program;     /* replaces build/clformer; may be NULL */
    const char *launcher;    /* words before the program, such as mpirun and its flags; may be NULL */
    const char *environment; /* one additional "NAME=value"; may be NULL */
    const char *output_path; /* redirects standard output; may be NULL */
    int keeps_kernels;       /* 1: clformer's kernel cache is enabled, in addition to the driver's */
    int has_closed_output;   /* standard output is a pipe without a reader */
    int closed[3];           /* non-zero: standard input, output or error, respectively, is closed */
    int signal_when_started; /* signal to send after the first output on standard error, while the input is
                                still open; 0: none */
};

/* Splits words in place at single spaces, but not inside the paths of the source and build folders; "\x1f"
 * becomes a space. Writes at most `most` words and a NULL to argv; returns the number of words. */
int process_split(char **argv, int most, char *words);

/* Returns a path to a library in build/tests that has no spaces, because spaces separate the entries of
 * LD_PRELOAD. */
const char *process_library(const char *name);

/* Runs build/clformer, or `program`, with these arguments (split at single spaces; "\x1f" is a literal
 * space). Runs share kernels cached by the driver, in $XDG_CACHE_HOME or below the build folder. */
struct process_result process_run(const struct process *process, const char *arguments);

/* A command that runs in parallel with the test; the test writes its input and reads its output. */
struct coprocess {
    int child, to, from;
    char *received; /* output that has not been returned yet */
    size_t size;
    FILE *error_file; /* its standard error */
    char *errors;     /* its standard error, after the command ended */
};
struct coprocess coprocess_start(const char *arguments);
/* Like coprocess_start(), with another program, launcher and environment. */
struct coprocess coprocess_start_by(const struct process *process, const char *arguments);
void coprocess_write(struct coprocess *coprocess, const char *text);
/* Returns the next line with its newline; fails after five minutes. Freed by support_free_all(). */
char *coprocess_read_line(struct coprocess *coprocess);
/* Closes the command's standard output, as a reader that exits early does. */
void coprocess_close_output(struct coprocess *coprocess);
/* Closes both ends and waits; returns the exit status, or 128 + the signal that ended it. */
int coprocess_end(struct coprocess *coprocess);

/* Sets the environment of children that are started without process_run(). */
void process_set_environment(void);

/* Runs build/clformer with these arguments and this standard input. */
struct process_result run_clformer(const char *input, const char *arguments);

/* Returns the verbs that `clformer --help` lists; NULL-terminated, freed by support_free_all(). */
const char *const *process_verbs(void);

/* Fails unless the run ended with `status`, wrote nothing to standard output, and reported exactly one
 * message, which contains `part`. */
#define assert_refused(result, status, part)                                                                 \
    process_assert_refused(&(result), (status), (part), __FILE__, __LINE__)
void process_assert_refused(const struct process_result *result, int status, const char *part,
                            const char *file, int line);

/* Fails and prints the errors of the run unless its exit status is 0 and its output is `expected`. */
#define assert_output(result, expected) process_assert_output(&(result), (expected), __FILE__, __LINE__)
void process_assert_output(const struct process_result *result, const char *expected, const char *file,
                           int line);

/* Counts the occurrences of `part` in a text. */
int process_count(const char *text, const char *part);

/* Returns a temporary folder with links to every file of `model`, for tests that replace files. */
const char *process_model_copy(const char *model);
/* Writes <folder>/<name>; replaces a link, without changing the target of the link. */
void process_write(const char *folder, const char *name, const void *bytes, size_t size);
void process_remove(const char *folder, const char *name);
/* Reads a whole file; freed by support_free_all(). */
char *process_read(const char *folder, const char *name, size_t *size);
/* Formats a string; freed by support_free_all(). */
char *process_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a shell command, and returns its output and errors (up to 64 KiB, valid until the next call). Fails
 * the test and shows both if the status is not 0. */
char *process_shell(const char *command);

#endif
