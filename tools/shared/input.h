/* Opening what the user names: a file, or a pipe such as /dev/stdin and <(...), and no endless device. */
#ifndef CLF_TOOLS_INPUT_H
#define CLF_TOOLS_INPUT_H

#include <stddef.h>
#include <stdio.h>

/* Opens a file to read. A pipe that nobody writes to is at its end and not waited for. NULL, or -1, reported,
 * where it cannot be read. */
FILE *input_open(const char *path);
int input_open_descriptor(const char *path);

/* Reads all of a file, or of standard input for "-", of at most so many bytes; the caller frees *text.
 * Returns an exit status; a failure is reported. */
int input_read_all(char **text, size_t *size, const char *path, size_t most);

/* One line with its newline, and a NUL after it, into *text, which grows and which the caller frees: its
 * size, 0 at the end of the file or where it cannot be read, which ferror() tells, or one of these. */
enum { INPUT_TOO_LONG = -1, INPUT_NO_MEMORY = -2 };
long long input_read_line(char **text, size_t *capacity, FILE *file, size_t most);

/* Opens a device or a pipe to write to; a pipe that nobody reads is not waited for. NULL with errno. */
FILE *input_open_sink(const char *path);

#endif
