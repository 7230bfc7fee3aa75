/* Tracks the open elements of an HTML document, and decides which text is translated and how the tokenizer
 * continues.
 *
 * Follows the rules of the HTML standard for where an element ends: missing, misplaced and implied end tags,
 * raw text, SVG and MathML. The standard moves elements whose tags overlap; here they just end. */
#ifndef CLF_TOOLS_SERVE_HTML_ELEMENTS_H
#define CLF_TOOLS_SERVE_HTML_ELEMENTS_H

#include "serve/html_tokens.h"

/* Elements beyond this depth replace each other, as in Chromium, so that a hostile document costs little
 * time. */
enum { HTML_MOST_OPEN = 512 };

struct html_element {
    unsigned name;  /* hash of the name in lower case */
    unsigned flags; /* see html_elements.c */
};

struct html_elements {
    struct html_element open[HTML_MOST_OPEN];
    int count;
    int untranslated;        /* open elements whose text is not translated */
    int preformatted;        /* open elements whose line breaks are kept */
    const unsigned *ignored; /* (ignored_count) html_name_hash() of additional untranslated elements */
    int ignored_count;
};

/* Returns the hash of an element's name, ignoring case. */
unsigned html_name_hash(const char *name, size_t size);

/* How a tag relates to the sentence around it. */
enum html_place {
    HTML_OUTSIDE,      /* the sentence ends there */
    HTML_INSIDE,       /* the tag of an inline element */
    HTML_EMPTY,        /* an inline element without content */
    HTML_UNTRANSLATED, /* the tag of an element that is not translated */
};

/* Returns the place of a start or end tag; call it before html_elements_take(). */
enum html_place html_elements_place(const struct html_elements *elements, const struct html_tokens *tokens,
                                    const struct html_token *tag);

/* Updates the open elements after a start or end tag, and sets how `tokens` continues. */
void html_elements_take(struct html_elements *elements, struct html_tokens *tokens,
                        const struct html_token *tag);

#endif
