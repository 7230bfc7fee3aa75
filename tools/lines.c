#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

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
    int byte, any = 0;
    while ((byte = getc_unlocked(reader->file)) != EOF && byte != '\n') {
        any = 1;
        reader->bytes++;
        if (window->size - first < LINE_BYTES_KEPT) {
            if (add_byte(window, byte) != EXIT_DONE) {
                return EXIT_FAILED;
            }
        } else {
            window->cut_line = reader->line_number + 1;
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
    return add_line(window, first);
}

int window_read(struct window *window, struct line_reader *reader, int max_lines, size_t max_bytes)
{
    window->size = 0;
    window->count = 0;
    window->cut_line = 0;
    window->first_number = reader->line_number + 1;
    while (!reader->at_end && window->count < max_lines && window->size < max_bytes) {
        if (read_line(window, reader) != EXIT_DONE) {
            return EXIT_FAILED;
        }
    }
    for (int i = 0; i < window->count; i++) {
        window->lines[i].text = window->bytes + window->first[i];
        window->lines[i].size = window->first[i + 1] - window->first[i];
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
