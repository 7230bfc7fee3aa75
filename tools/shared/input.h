/* Opens files and pipes that the user names, including /dev/stdin and <(...). Endless devices are refused. */
#ifndef CLF_TOOLS_INPUT_H
#define CLF_TOOLS_INPUT_H

#include <stddef.h>
#include <stdio.h>

/* Opens a file for reading. Opening a pipe does not wait for a writer; without one, the pipe is empty.
 * Returns NULL or -1 after reporting a failure. */
FILE *input_open(const char *path);
int input_open_descriptor(const char *path);

/* Reads a file, or standard input for "-", up to `most` bytes; the caller frees *text. Reports failures and
 * returns an exit status. */
int input_read_all(char **text, size_t *size, const char *path, size_t most);

/* Reads one line, with its newline and a NUL, into *text, which grows as needed and is freed by the caller.
 * Returns the size, 0 at the end of the file or on an error (see ferror()), or one of these constants. */
enum { INPUT_TOO_LONG = -1, INPUT_NO_MEMORY = -2 };
long long input_read_line(char **text, size_t *capacity, FILE *file, size_t most);

/* Opens a device or pipe for writing. Opening a pipe does not wait for a reader. Returns NULL with errno on
 * failure. */
FILE *input_open_sink(const char *path);

#endif
