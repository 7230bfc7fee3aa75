/* Tracks the open elements of an HTML document, and decides which text is translated and how the tokenizer
 * continues.
 *
 * Follows the rules of the HTML standard for where an element ends: missing, misplaced and implied end tags,
 * raw text, SVG and MathML. The standard moves elements whose tags overlap; here they just end. */
#ifndef CLF_DOCUMENTS_HTML_ELEMENTS_H
#define CLF_DOCUMENTS_HTML_ELEMENTS_H

#include "translate/documents/html/tokens.h"

/* Elements beyond this depth replace each other, as in Chromium, so that a hostile document costs little
 * time. */
enum { CLF__HTML_MOST_OPEN = 512 };

struct clf__html_element {
    unsigned name;  /* hash of the name in lower case */
    unsigned flags; /* see elements.c */
};

struct clf__html_elements {
    struct clf__html_element open[CLF__HTML_MOST_OPEN];
    int count;
    int untranslated;        /* open elements whose text is not translated */
    int preformatted;        /* open elements whose line breaks are kept */
    const unsigned *ignored; /* (ignored_count) clf__html_hash() of additional untranslated elements */
    int ignored_count;
};

/* Returns the hash of an element's name, ignoring case. */
unsigned clf__html_hash(const char *name, size_t size);

/* Returns what an element of XHTML is: a combination of CLF__HTML_IS_...; 0 for a block or an unknown
 * element. */
enum { CLF__HTML_IS_INLINE = 1, CLF__HTML_IS_VOID = 2, CLF__HTML_IS_SKIPPED = 4, CLF__HTML_IS_LINES = 8 };
unsigned clf__html_kind_of(const char *name, size_t size);

/* How a tag relates to the sentence around it. */
enum clf__html_place_kind {
    CLF__HTML_OUTSIDE,      /* the sentence ends there */
    CLF__HTML_INSIDE,       /* the tag of an inline element */
    CLF__HTML_EMPTY,        /* an inline element without content */
    CLF__HTML_UNTRANSLATED, /* the tag of an element that is not translated */
};

/* Returns the place of a start or end tag; call it before clf__html_take(). */
enum clf__html_place_kind clf__html_place(const struct clf__html_elements *elements,
                                          const struct clf__html_tokens *tokens,
                                          const struct clf__html_token *tag);

/* Updates the open elements after a start or end tag, and sets how `tokens` continues. */
void clf__html_take(struct clf__html_elements *elements, struct clf__html_tokens *tokens,
                    const struct clf__html_token *tag);

#endif
