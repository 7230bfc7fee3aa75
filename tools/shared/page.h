/* Self-contained HTML pages: an embedded template with its @NAMES@ filled in. */
#ifndef CLF_TOOLS_PAGE_H
#define CLF_TOOLS_PAGE_H

#include <jansson.h>
#include <stdio.h>

/* attend.html, bench.html and train.html, embedded by CMake. */
extern const unsigned char attend_template[], bench_template[], train_template[];

/* Prints the text that replaces a name (`length` capital letters) between two @. Returns an exit status. */
typedef int page_field(FILE *file, const void *context, const char *name, size_t length);

struct page {
    const unsigned char *template_text;
    page_field *field;
    const void *context;
};

/* Writes the page to a temporary file next to `path` and renames it; "-" (standard output) and other
 * non-regular files are written directly. An existing file that is not a page is not overwritten. Reports a
 * failure and returns an exit status. */
int page_write(const char *path, const struct page *page);
/* Checks, before any work, that page_write() can write to the path. Reports a failure and returns an exit
 * status. */
int page_check(const char *path);

/* Returns the last component of a path and its length without slashes. Pages do not show whole paths, which
 * may be private. */
const char *page_last_part(const char *path, size_t *length);

/* Prints text with the special characters of HTML escaped. */
void page_print_escaped(FILE *file, const char *text);
/* Prints JSON for a script element, with "<" escaped because it could end the element. Takes ownership of the
 * value; NULL means out of memory, which is reported. */
int page_print_json(FILE *file, json_t *value);

#endif
