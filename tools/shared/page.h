/* Self-contained HTML pages: an embedded template with its @NAMES@ filled in. */
#ifndef CLF_TOOLS_PAGE_H
#define CLF_TOOLS_PAGE_H

#include <jansson.h>
#include <stdio.h>

/* attend.html, bench.html and train.html, embedded by CMake. */
extern const unsigned char attend_template[], bench_template[], train_template[];

/* Prints what stands for the name (capital letters, `length` of them) between two @. Returns an exit status.
 */
typedef int page_field(FILE *file, const void *context, const char *name, size_t length);

struct page {
    const unsigned char *template_text;
    page_field *field;
    const void *context;
};

/* Writes the page to a temporary file beside `path` and renames it; what is no regular file is written
 * directly, and "-" is standard output. A file that holds anything but a page stays as it is: a failure.
 * Reports a failure; returns an exit status. */
int page_write(const char *path, const struct page *page);
/* Whether it could be written there, before the work that it shows. Reports a failure; returns an exit
 * status. */
int page_check(const char *path);

/* The last part of a path and its length, without slashes: all that a page says of where things lie, which is
 * nobody else's business. */
const char *page_last_part(const char *path, size_t *length);

/* Text for HTML. */
void page_print_escaped(FILE *file, const char *text);
/* JSON for a script element, in which "<" may begin the end. Takes the value; NULL is a failure, reported. */
int page_print_json(FILE *file, json_t *value);

#endif
