/* The text of HTML: character references, white space, and escapes. */
#ifndef CLF_TOOLS_SERVE_HTML_TEXT_H
#define CLF_TOOLS_SERVE_HTML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Returns 0 if the program is built without Gumbo, which knows the 2231 names of character references. */
int html_text_exists(void);

/* Leaves out white space around a text: HTML's, and no-break spaces in any notation. */
void html_text_trim(const char *bytes, size_t *start, size_t *end);

/* Decodes character references; the rest as html_text_decode(). A build without Gumbo copies the text. */
char *html_text_references(size_t *size, const char *bytes, size_t raw_size);

/* Decodes character references and turns each run of white space into a space.
 *
 * @param size receives the size of the result.
 * @return a NUL-terminated text that the caller frees; NULL if out of memory. */
char *html_text_decode(size_t *size, const char *bytes, size_t raw_size);

/* Returns 1 if a text contains a letter; a text without letters is not translated. */
int html_text_has_letter(const char *text, size_t size);

/* Writes a text with &, < and > as character references. */
void html_text_write(FILE *file, const char *text, size_t size);

#endif
