/* Reading lines of any length in bounded memory. */
#ifndef CLF_TOOLS_LINES_H
#define CLF_TOOLS_LINES_H

#include <stdio.h>

#include <clformer/translator.h>

enum { LINE_BYTES_KEPT = 1 << 22 }; /* of one line; no model reads so much */

struct line_reader {
    FILE *file;
    const char *name;         /* for messages */
    int quiet;                /* no warnings */
    long long line_number;    /* of the last line read, from 1 */
    unsigned long long bytes; /* read so far */
    int at_end;
};

/* Some lines read together. */
struct window {
    char *bytes;
    size_t size, capacity;
    size_t *first; /* (capacity of lines + 1) where each line starts in bytes */
    struct clf_line *lines;
    int count, line_capacity;
    long long first_number; /* line number of lines[0] */
};

/* Reads up to max_lines lines or about max_bytes, line by line from each of `sides` inputs, which must end
 * together. A carriage return before the newline is dropped; a missing last newline is fine. Returns an exit
 * status; count is 0 at the end of the files. */
int windows_read(struct window *windows, struct line_reader *readers, int sides, int max_lines,
                 size_t max_bytes);
void window_free(struct window *window);

#endif
