#include "shared/references.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "shared/lines.h"

enum { LINES, REFERENCES, SIDES };

/* Returns the lines of a window as an array of strings in a single allocation; NULL if out of memory. */
static char **strings_of(const struct window *window)
{
    size_t addresses = (size_t)window->count * sizeof(char *);
    char **strings = malloc(addresses + window->size + (size_t)window->count + 1);
    char *next = (char *)strings + addresses;
    for (int i = 0; strings != NULL && i < window->count; i++) {
        const struct clf_line *line = &window->lines[i];
        strings[i] = next;
        memcpy(next, line->text, line->size);
        next[line->size] = '\0';
        next += line->size + 1;
    }
    return strings;
}

/* Rejects lines with NUL bytes, which would end a string, and lines that are not UTF-8. The library also
 * rejects the latter, but does not know the file name. */
static int check_lines(const struct window *window, const char *name)
{
    clf_status status = CLF_OK;
    for (int i = 0; i < window->count && status == CLF_OK; i++) {
        const struct clf_line *line = &window->lines[i];
        status = memchr(line->text, '\0', line->size) != NULL ? clf__fail(CLF_TEXT, "contains a NUL byte")
                                                              : clf__utf8_check(line->text, line->size);
        if (status != CLF_OK) {
            (void)clf__fail_in(status, "%s, line %d", name, i + 1);
        }
    }
    return status == CLF_OK ? EXIT_DONE : report_failure(status);
}

static int compare_windows(const struct window *windows, const struct flags *flags, compare_lines *compare)
{
    char **lines = strings_of(&windows[LINES]), **references = strings_of(&windows[REFERENCES]);
    int status = EXIT_FAILED;
    if (lines == NULL || references == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the lines\n");
    } else {
        status = compare((const char *const *)lines, (const char *const *)references, windows->count, flags);
    }
    free(lines);
    free(references);
    return status;
}

int with_references(const struct flags *flags, compare_lines *compare)
{
    const char *path = flags->operands[0];
    struct line_reader readers[SIDES] = {{.quiet = flags->quiet}, {.quiet = flags->quiet}};
    line_reader_use_stdin(&readers[LINES]);
    if (line_reader_open(&readers[REFERENCES], path) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    struct window windows[SIDES] = {{.bytes = NULL}, {.bytes = NULL}};
    int status = windows_read(windows, readers, SIDES, &(struct window_limits){INT_MAX, SIZE_MAX, 1});
    for (int side = 0; side < SIDES && status == EXIT_DONE; side++) {
        status = check_lines(&windows[side], readers[side].name);
    }
    if (status == EXIT_DONE && windows->count == 0) {
        fprintf(stderr, "clformer: %s and standard input are empty\n", path);
        status = EXIT_FAILED;
    }
    if (status == EXIT_DONE) {
        status = compare_windows(windows, flags, compare);
    }
    for (int side = 0; side < SIDES; side++) {
        window_free(&windows[side]);
        line_reader_close(&readers[side]);
    }
    return status;
}
