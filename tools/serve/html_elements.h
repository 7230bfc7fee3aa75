/* The open elements of an HTML document: which text is translated, and how the tokenizer goes on.
 *
 * The rules are those of the HTML standard that decide where an element ends: missing, misplaced and implied
 * end tags, raw text, SVG and MathML. The standard moves elements whose tags overlap; here they only end. */
#ifndef CLF_TOOLS_SERVE_HTML_ELEMENTS_H
#define CLF_TOOLS_SERVE_HTML_ELEMENTS_H

#include "serve/html_tokens.h"

/* Deeper elements replace each other, as in Chromium, so that a hostile document costs little time. */
enum { HTML_MOST_OPEN = 512 };

struct html_element {
    unsigned name;  /* hash of the name in lower case */
    unsigned flags; /* of html_elements.c */
};

struct html_elements {
    struct html_element open[HTML_MOST_OPEN];
    int count;
    int untranslated;        /* open elements whose text is not translated */
    int preformatted;        /* open elements whose line breaks are kept */
    const unsigned *ignored; /* (ignored_count) html_name_hash() of more elements that are not translated */
    int ignored_count;
};

/* Returns the hash of an element's name, in any letter case. */
unsigned html_name_hash(const char *name, size_t size);

/* Updates the open elements after a start or end tag, and sets how `tokens` reads on. */
void html_elements_take(struct html_elements *elements, struct html_tokens *tokens,
                        const struct html_token *tag);

#endif
