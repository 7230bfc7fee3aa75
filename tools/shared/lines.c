#include "shared/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "shared/command.h"

static int grow(void *pointer, size_t count, size_t size)
{
    void *old, *grown;
    memcpy(&old, pointer, sizeof old);
    grown = realloc(old, count * size);
    if (grown == NULL) {
        fprintf(stderr, "clformer: no memory left for the input lines\n");
        return EXIT_FAILED;
    }
    memcpy(pointer, &grown, sizeof grown);
    return EXIT_DONE;
}

static int add_byte(struct window *window, int byte)
{
    if (window->size == window->capacity) {
        size_t capacity = window->capacity > 0 ? 2 * window->capacity : 4096;
        if (grow(&window->bytes, capacity, 1) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        window->capacity = capacity;
    }
    window->bytes[window->size++] = (char)byte;
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

/* One line into the window; sets at_end, and adds nothing where there is none. */
static int read_line(struct window *window, struct line_reader *reader)
{
    size_t first = window->size;
    int byte, any = 0, is_cut = 0;
    while ((byte = getc_unlocked(reader->file)) != EOF && byte != '\n') {
        any = 1;
        reader->bytes++;
        is_cut = window->size - first >= LINE_BYTES_KEPT;
        if (!is_cut && add_byte(window, byte) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    if (byte == EOF) {
        reader->at_end = 1;
        if (ferror(reader->file) && !signals_interrupted(NULL)) {
            fprintf(stderr, "clformer: %s cannot be read: %s\n", reader->name, strerror(errno));
            return EXIT_FAILED;
        }
        if (!any) {
            return EXIT_DONE;
        }
    } else {
        reader->bytes++;
    }
    reader->line_number++;
    if (is_cut) {
        window->size = first + clf__utf8_cut(window->bytes + first, window->size - first);
        if (!reader->quiet) {
            fprintf(stderr, "clformer: warning: line %lld: only the first %d bytes of it were read\n",
                    reader->line_number, LINE_BYTES_KEPT);
        }
    }
    return add_line(window, first);
}

/* Reads on to learn how many lines there are, not for ever, and says that the inputs differ. */
static int report_uneven(struct line_reader *readers)
{
    static const char *const more[2] = {"", "at least "};
    int goes_on[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        struct line_reader *reader = &readers[side];
        int byte, last = '\n', left = 1 << 26;
        while (!reader->at_end && left > 0 && (byte = getc_unlocked(reader->file)) != EOF) {
            reader->line_number += byte == '\n';
            last = byte;
            left--;
        }
        reader->line_number += last != '\n';
        goes_on[side] = left == 0;
    }
    fprintf(stderr, "clformer: %s has %s%lld line%s and %s has %s%lld; each line needs its other side\n",
            readers[0].name, more[goes_on[0]], readers[0].line_number, readers[0].line_number == 1 ? "" : "s",
            readers[1].name, more[goes_on[1]], readers[1].line_number);
    return EXIT_FAILED;
}

static int has_more(struct line_reader *reader)
{
    int byte = reader->at_end ? EOF : getc_unlocked(reader->file);
    return byte != EOF && ungetc(byte, reader->file) != EOF;
}

static void set_lines(struct window *window)
{
    for (int i = 0; i < window->count; i++) {
        window->lines[i].text = window->bytes + window->first[i];
        window->lines[i].size = window->first[i + 1] - window->first[i];
    }
}

int windows_read(struct window *windows, struct line_reader *readers, int sides, int max_lines,
                 size_t max_bytes)
{
    for (int side = 0; side < sides; side++) {
        windows[side].size = 0;
        windows[side].count = 0;
        windows[side].first_number = readers[side].line_number + 1;
    }
    for (size_t bytes = 0; !readers[0].at_end && windows[0].count < max_lines && bytes < max_bytes;) {
        bytes = 0;
        for (int side = 0; side < sides; side++) {
            if (read_line(&windows[side], &readers[side]) != EXIT_DONE) {
                return EXIT_FAILED;
            }
            bytes += windows[side].size;
        }
        int is_uneven = sides > 1 && (windows[0].count != windows[1].count ||
                                      (readers[0].at_end && has_more(&readers[1])));
        if (is_uneven && !signals_interrupted(NULL)) {
            return report_uneven(readers);
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
