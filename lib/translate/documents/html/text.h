/* The text of HTML: character references, white space, and escapes. */
#ifndef CLF_DOCUMENTS_HTML_TEXT_H
#define CLF_DOCUMENTS_HTML_TEXT_H

#include <stddef.h>

#include "base/status.h"

/* Trims HTML white space and no-break spaces, in any notation, around a text. */
void clf__html_trim(const char *bytes, size_t *start, size_t *end);

/* Decodes character references. Gumbo has the table of their 2231 names; a build without Gumbo copies the
 * text.
 *
 * @param out receives a NUL-terminated text; the caller frees it with clf__free().
 * @param size receives its size. */
clf_status clf__html_references(char **out, size_t *size, const char *bytes, size_t raw_size);

/* Like clf__html_references(); also collapses each run of white space into one space and trims the ends. */
clf_status clf__html_decode(char **out, size_t *size, const char *bytes, size_t raw_size);

#endif
