/* Reads lines of any length in bounded memory. */
#ifndef CLF_TOOLS_LINES_H
#define CLF_TOOLS_LINES_H

#include <stddef.h>

#include <clformer/translator.h>

enum { LINE_BYTES_KEPT = 1 << 22 }; /* maximum bytes kept of a line; longer than any model's input */

struct line_reader {
    const char *name; /* for messages */
    int descriptor;
    int quiet;                /* print no warnings or advice */
    int has_advised;          /* the advice for terminals has been printed */
    long long line_number;    /* number of the last line read; the first line is 1 */
    unsigned long long bytes; /* total bytes of the lines read so far */
    /* Bytes read but not yet part of a line: buffer[next .. filled), with no newline before `searched`. */
    char *buffer;
    size_t next, searched, filled, capacity;
    size_t dropped; /* discarded bytes of the current line, which is too long */
    int ended;      /* no input after the buffer's content */
    int at_end;     /* the input has ended and the buffer is empty */
};

/* Opens a file for reading. Reports a failure and returns an exit status. */
int line_reader_open(struct line_reader *reader, const char *path);
void line_reader_use_stdin(struct line_reader *reader);
void line_reader_close(struct line_reader *reader);

/* Lines of one read. */
struct window {
    char *bytes;
    size_t size, capacity;
    size_t *first; /* (capacity of lines + 1) offset of each line in bytes */
    struct clf_line *lines;
    int count, line_capacity;
    long long first_number; /* number of lines[0] */
};

/* How much input to read at a time. */
struct window_limits {
    int lines;
    size_t bytes; /* approximate limit */
    int waits;    /* 1: read up to the limits; 0: at least one line, then only lines that have arrived */
};

/* Reads lines from each of `sides` inputs, which must have the same number of lines. Removes a carriage
 * return before a newline; the last newline is optional. Returns an exit status; count is 0 at the end of the
 * inputs. */
int windows_read(struct window *windows, struct line_reader *readers, int sides,
                 const struct window_limits *limits);
void window_free(struct window *window);

#endif
