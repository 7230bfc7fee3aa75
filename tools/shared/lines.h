/* Reading lines of any length in bounded memory. */
#ifndef CLF_TOOLS_LINES_H
#define CLF_TOOLS_LINES_H

#include <stddef.h>

#include <clformer/translator.h>

enum { LINE_BYTES_KEPT = 1 << 22 }; /* of one line; no model reads so much */

struct line_reader {
    const char *name; /* for messages */
    int descriptor;
    int quiet;                /* no warnings and no advice */
    int has_advised;          /* what to do on a terminal was printed */
    long long line_number;    /* of the last line read, from 1 */
    unsigned long long bytes; /* of the lines read so far */
    /* What was read and is in no line yet: buffer[next .. filled), without a newline before `searched`. */
    char *buffer;
    size_t next, searched, filled, capacity;
    size_t dropped; /* bytes of the next line, which is too long */
    int ended;      /* nothing follows what is in the buffer */
    int at_end;     /* nor is anything left in it */
};

/* Opens a file for reading. Reports a failure; returns an exit status. */
int line_reader_open(struct line_reader *reader, const char *path);
void line_reader_use_stdin(struct line_reader *reader);
void line_reader_close(struct line_reader *reader);

/* Some lines read together. */
struct window {
    char *bytes;
    size_t size, capacity;
    size_t *first; /* (capacity of lines + 1) where each line starts in bytes */
    struct clf_line *lines;
    int count, line_capacity;
    long long first_number; /* line number of lines[0] */
};

/* How much of the inputs to read. */
struct window_limits {
    int lines;
    size_t bytes; /* about */
    int waits;    /* for so much; otherwise what has arrived is enough once there is a line */
};

/* Reads line by line from each of `sides` inputs, which must end together. A carriage return before the
 * newline is dropped; a missing last newline is fine. Returns an exit status; count is 0 at the end of the
 * inputs. */
int windows_read(struct window *windows, struct line_reader *readers, int sides,
                 const struct window_limits *limits);
void window_free(struct window *window);

#endif
