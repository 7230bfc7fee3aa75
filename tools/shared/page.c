#include "shared/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "shared/command.h"
#include "shared/input.h"
#include "shared/sink.h"

const char *page_last_part(const char *path, size_t *length)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end--;
    }
    size_t first = end;
    while (first > 0 && path[first - 1] != '/') {
        first--;
    }
    *length = end - first;
    return path + first;
}

void page_print_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            /* HTML allows no other control characters */
            putc((unsigned char)*text < ' ' && *text != '\t' ? ' ' : *text, file);
        }
    }
}

int page_print_json(FILE *file, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (text == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the page\n");
        return EXIT_FAILED;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '<') {
            fputs("\\u003c", file);
        } else {
            putc(*c, file);
        }
    }
    free(text);
    return EXIT_DONE;
}

static int print_page(FILE *file, const struct page *page)
{
    const char *rest = (const char *)page->template_text;
    for (;;) {
        const char *name = strchr(rest, '@');
        size_t length = name != NULL ? strspn(name + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
        if (name == NULL) {
            fputs(rest, file);
            return EXIT_DONE;
        }
        if (length == 0 || name[length + 1] != '@') { /* a literal @ in the page */
            fprintf(file, "%.*s@", (int)(name - rest), rest);
            rest = name + 1;
            continue;
        }
        fprintf(file, "%.*s", (int)(name - rest), rest);
        if (page->field(file, page->context, name + 1, length) != EXIT_DONE) {
            return EXIT_FAILED;
        }
        rest = name + length + 2;
    }
}

static int report_file(const char *path)
{
    fprintf(stderr, "clformer: %s: cannot be written: %s\n", path,
            errno == ENXIO ? "it is a pipe without a reader" : strerror(errno));
    return EXIT_FAILED;
}

/* Prints the page and closes the file; `path` is used in messages. */
static int print_and_close(FILE *file, const char *path, const struct page *page)
{
    if (file == NULL) {
        return report_file(path);
    }
    errno = 0; /* only a failed write sets errno */
    int status = print_page(file, page);
    int failed = ferror(file);
    failed |= fclose(file) != 0;
    if (status == EXIT_DONE && failed) {
        return report_file(path);
    }
    return status;
}

/* Fails if the file exists and is neither empty nor a page: it may be a text or a log that the user needs.
 * Reports the failure and returns an exit status. */
static int check_old(const char *path)
{
    static const char start[] = "<!DOCTYPE html>";
    char found[sizeof start - 1];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return errno == ENOENT ? EXIT_DONE : report_file(path);
    }
    size_t size = fread(found, 1, sizeof found, file);
    int failed = ferror(file);
    int is_free = size == 0 || (size == sizeof found && memcmp(found, start, size) == 0);
    int reason = errno;
    fclose(file);
    errno = reason;
    if (failed) {
        return report_file(path);
    }
    if (!is_free) {
        fprintf(stderr, "clformer: %s: exists and is not an HTML page; remove it, or name another file\n",
                path);
    }
    return is_free ? EXIT_DONE : EXIT_FAILED;
}

/* Flushes at once, while errno still describes a failure. */
static int print_to_output(const struct page *page)
{
    int status = print_page(stdout, page);
    fflush(stdout);
    return output_failed() ? EXIT_FAILED : status;
}

int page_write(const char *path, const struct page *page)
{
    if (strcmp(path, "-") == 0) {
        return print_to_output(page);
    }
    if (!sink_is_file(path)) {
        return print_and_close(input_open_sink(path), path, page);
    }
    if (check_old(path) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    struct clf__file_writer writer;
    clf_status status = clf__file_writer_open(&writer, path);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    /* Prints to a copy of the descriptor: closing the copy reports a full disk, and the writer closes its own
     * descriptor. */
    int result = print_and_close(fdopen(dup(writer.descriptor), "w"), path, page);
    status = clf__file_writer_close(&writer, result == EXIT_DONE ? CLF_OK : CLF_INTERRUPTED);
    return result == EXIT_DONE && status != CLF_OK ? report_failure(status) : result;
}

int page_check(const char *path)
{
    if (!sink_is_file(path)) {
        return EXIT_DONE;
    }
    if (check_old(path) != EXIT_DONE) {
        return EXIT_FAILED;
    }
    struct clf__file_writer writer;
    clf_status status = clf__file_writer_open(&writer, path);
    if (status != CLF_OK) {
        return report_failure(status);
    }
    clf__file_writer_close(&writer, CLF_INTERRUPTED); /* leaves no temporary file */
    return EXIT_DONE;
}
