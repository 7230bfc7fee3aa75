#include "shared/lines.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "shared/command.h"
#include "shared/input.h"
#include "shared/progress.h"

/* Bytes per read, and the usual block size of a writer that does not wait for translations. */
enum { READ_BYTES = 1 << 16, BLOCK_BYTES = 4096 };
#define BLOCK_SECONDS 2e-3

static int grow(void *pointer, size_t count, size_t size)
{
    void *old, *grown;
    memcpy(&old, pointer, sizeof old);
    grown = realloc(old, count * size);
    if (grown == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the input lines\n");
        return EXIT_FAILED;
    }
    memcpy(pointer, &grown, sizeof grown);
    return EXIT_DONE;
}

static int add_bytes(struct window *window, const char *bytes, size_t size)
{
    if (window->capacity - window->size < size || window->capacity == 0) {
        size_t capacity = 2 * window->capacity + size + 4096;
        if (grow(&window->bytes, capacity, 1) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        window->capacity = capacity;
    }
    memcpy(window->bytes + window->size, bytes, size);
    window->size += size;
    return EXIT_DONE;
}

static int add_line(struct window *window, size_t first)
{
    if (window->count == window->line_capacity) {
        int capacity = window->line_capacity > 0 ? 2 * window->line_capacity : 256;
        if (grow(&window->first, (size_t)capacity + 1, sizeof *window->first) != EXIT_DONE ||
            grow(&window->lines, (size_t)capacity, sizeof *window->lines) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        window->line_capacity = capacity;
    }
    if (window->size > first && window->bytes[window->size - 1] == '\r') {
        window->size--;
    }
    window->first[window->count++] = first;
    window->first[window->count] = window->size;
    return EXIT_DONE;
}

int line_reader_open(struct line_reader *reader, const char *path)
{
    reader->name = path;
    reader->descriptor = input_open_descriptor(path);
    return reader->descriptor >= 0 ? EXIT_DONE : EXIT_FAILED;
}

void line_reader_use_stdin(struct line_reader *reader)
{
    reader->name = "standard input";
    reader->descriptor = STDIN_FILENO;
}

void line_reader_close(struct line_reader *reader)
{
    if (reader->descriptor > STDERR_FILENO) {
        close(reader->descriptor);
    }
    free(reader->buffer);
    *reader = (struct line_reader){.descriptor = -1};
}

/* Returns 1 if data can be read now or within `milliseconds` (-1: no limit). Read errors count as data and
 * are reported by the read. */
static int has_arrived(const struct line_reader *reader, int milliseconds)
{
    struct pollfd input = {.fd = reader->descriptor, .events = POLLIN};
    return poll(&input, 1, milliseconds) > 0;
}

/* Makes space for reading: moves the kept bytes to the start of the buffer. If a line is too long, one byte
 * more than the limit is kept to mark the line. */
static int make_room(struct line_reader *reader)
{
    size_t held = reader->filled - reader->next;
    if (held > LINE_BYTES_KEPT + 1) {
        reader->dropped += held - (LINE_BYTES_KEPT + 1);
        held = LINE_BYTES_KEPT + 1;
    }
    if (held > 0 && reader->next > 0) {
        memmove(reader->buffer, reader->buffer + reader->next, held);
    }
    reader->next = 0;
    reader->searched = reader->filled = held;
    if (reader->capacity - held >= READ_BYTES) {
        return EXIT_DONE;
    }
    size_t capacity = 2 * held + READ_BYTES;
    if (grow(&reader->buffer, capacity, 1) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    reader->capacity = capacity;
    return EXIT_DONE;
}

/* On a terminal, explains how to enter lines and how to end the input. */
static void advise(struct line_reader *reader)
{
    int waits =
        !reader->has_advised && !reader->quiet && isatty(reader->descriptor) && !has_arrived(reader, 0);
    if (waits && isatty(STDERR_FILENO)) {
        fprintf(stderr, "clformer: type a line and press Enter; press Ctrl-D on an empty line to end\n");
    }
    reader->has_advised = 1;
}

/* Reads more bytes; blocks until data arrives. An interrupt ends the input. */
static int fill(struct line_reader *reader)
{
    if (make_room(reader) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    advise(reader);
    ssize_t count;
    while ((count = read(reader->descriptor, reader->buffer + reader->filled, READ_BYTES)) < 0 &&
           (errno == EINTR || errno == EAGAIN) && !signals_interrupted(NULL)) {
        if (errno == EAGAIN) { /* another process made the file non-blocking */
            has_arrived(reader, -1);
        }
    }
    if (count < 0 && !signals_interrupted(NULL)) {
        fprintf(stderr, "clformer: %s: cannot be read: %s\n", reader->name, strerror(errno));
        return EXIT_FAILED;
    }
    reader->filled += count > 0 ? (size_t)count : 0;
    reader->ended = count <= 0;
    if (reader->ended && reader->descriptor == STDIN_FILENO) {
        signals_await_stop();
    }
    clf_status status =
        reader->bytes == 0 ? clf__utf8_check_start(reader->name, reader->buffer, reader->filled) : CLF_OK;
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

/* Returns 1 if the buffer holds a whole line, which ends at `searched`, or the last bytes of the input. */
static int has_line(struct line_reader *reader)
{
    size_t left = reader->filled - reader->searched;
    const char *newline = left > 0 ? memchr(reader->buffer + reader->searched, '\n', left) : NULL;
    reader->searched = newline != NULL ? (size_t)(newline - reader->buffer) : reader->filled;
    return newline != NULL || reader->ended;
}

/* Appends one line to the window; at the end of the input sets at_end and appends nothing. */
static int read_line(struct window *window, struct line_reader *reader)
{
    while (!has_line(reader)) {
        if (fill(reader) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    size_t first = window->size, size = reader->searched - reader->next;
    int has_newline = reader->searched<reader->filled, is_cut = size> LINE_BYTES_KEPT;
    reader->at_end = !has_newline;
    if (!has_newline && size == 0) {
        return EXIT_DONE;
    }
    if (add_bytes(window, reader->buffer + reader->next, is_cut ? LINE_BYTES_KEPT : size) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    reader->bytes += size + reader->dropped + (size_t)has_newline;
    reader->dropped = 0;
    reader->next = reader->searched = reader->searched + (size_t)has_newline;
    reader->line_number++;
    if (is_cut) {
        window->size = first + clf__utf8_cut(window->bytes + first, window->size - first);
        if (!reader->quiet) {
            fprintf(stderr, "clformer: warning: line %lld: truncated to the first %d bytes\n",
                    reader->line_number, LINE_BYTES_KEPT);
        }
    }
    return add_line(window, first);
}

/* Counts the remaining lines, up to a limit, and reports that the inputs have different lengths. */
static int report_uneven(struct window *windows, struct line_reader *readers)
{
    static const char *const more[2] = {"", "at least "};
    int goes_on[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        unsigned long long most = readers[side].bytes + (1 << 26);
        readers[side].quiet = 1;
        while (!readers[side].at_end && readers[side].bytes < most) {
            windows[side].size = 0;
            windows[side].count = 0;
            if (read_line(&windows[side], &readers[side]) != EXIT_DONE) {
                return EXIT_FAILED;
            }
        }
        goes_on[side] = !readers[side].at_end;
    }
    fprintf(stderr,
            "clformer: %s has %s%lld line%s, but %s has %s%lld; both must have the same number of lines\n",
            readers[0].name, more[goes_on[0]], readers[0].line_number, readers[0].line_number == 1 ? "" : "s",
            readers[1].name, more[goes_on[1]], readers[1].line_number);
    return EXIT_FAILED;
}

/* Sets *out to 1 if the input has more data; blocks until this is known. */
static int find_more(int *out, struct line_reader *reader)
{
    while (reader->next == reader->filled && !reader->ended) {
        if (fill(reader) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    *out = reader->next < reader->filled;
    return EXIT_DONE;
}

/* Sets *out to 1 if each side has a next line or is at its end. Does not wait after single lines, because the
 * writer may be waiting for their translations. After whole blocks, more lines usually follow; the function
 * waits for them until `deadline`, which the first call that waits sets. */
static int are_ready(int *out, struct line_reader *readers, int sides, size_t bytes, double *deadline)
{
    *out = 0;
    for (int side = 0; side < sides; side++) {
        while (!has_line(&readers[side])) {
            int milliseconds = 0;
            if (bytes >= BLOCK_BYTES && !has_arrived(&readers[side], 0)) {
                double now = seconds_now();
                *deadline = *deadline > 0 ? *deadline : now + BLOCK_SECONDS;
                milliseconds = (int)ceil(1e3 * (*deadline - now));
            }
            if (!has_arrived(&readers[side], milliseconds > 0 ? milliseconds : 0)) {
                return EXIT_DONE;
            }
            if (fill(&readers[side]) != EXIT_DONE) {
                return EXIT_FAILED;
            }
        }
    }
    *out = 1;
    return EXIT_DONE;
}

static void set_lines(struct window *window)
{
    for (int i = 0; i < window->count; i++) {
        window->lines[i].text = window->bytes + window->first[i];
        window->lines[i].size = window->first[i + 1] - window->first[i];
    }
}

/* Reads one line from each side. */
static int read_row(struct window *windows, struct line_reader *readers, int sides)
{
    for (int side = 0; side < sides; side++) {
        if (read_line(&windows[side], &readers[side]) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    int is_uneven = sides > 1 && windows[0].count != windows[1].count;
    if (sides > 1 && !is_uneven && readers[0].at_end && find_more(&is_uneven, &readers[1]) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    return is_uneven && !signals_interrupted(NULL) ? report_uneven(windows, readers) : EXIT_DONE;
}

int windows_read(struct window *windows, struct line_reader *readers, int sides,
                 const struct window_limits *limits)
{
    for (int side = 0; side < sides; side++) {
        windows[side].size = 0;
        windows[side].count = 0;
        windows[side].first_number = readers[side].line_number + 1;
    }
    double deadline = 0;
    int goes_on = limits->lines > 0 && limits->bytes > 0;
    while (goes_on && !readers[0].at_end) {
        if (read_row(windows, readers, sides) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        size_t bytes = windows[0].size + (sides > 1 ? windows[1].size : 0);
        goes_on = windows[0].count < limits->lines && bytes < limits->bytes;
        if (goes_on && !limits->waits && windows[0].count > 0 &&
            are_ready(&goes_on, readers, sides, bytes, &deadline) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    for (int side = 0; side < sides; side++) {
        set_lines(&windows[side]);
    }
    return EXIT_DONE;
}

void window_free(struct window *window)
{
    free(window->bytes);
    free(window->first);
    free(window->lines);
    *window = (struct window){.bytes = NULL};
}
