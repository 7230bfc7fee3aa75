/* Collects a text with inline marks, and adds it as a segment. */
#ifndef CLF_DOCUMENTS_INLINES_H
#define CLF_DOCUMENTS_INLINES_H

#include "translate/documents/format.h"

/* A text with more marks is divided, so that a hostile document costs little time. */
enum { CLF__MOST_INLINES = 64 };

/* Zero-initialise, and free the bytes of `text` at the end. */
struct clf__inlines {
    struct clf__output text; /* one line; each run of white space becomes one space */
    struct clf_mark marks[CLF__MOST_INLINES];
    struct clf__tags tags[CLF__MOST_INLINES];
    unsigned names[CLF__MOST_INLINES];
    int count;
    int open[CLF__MOST_INLINES]; /* (depth) open marks, whose end is not known yet */
    int depth;
    size_t start, end; /* bytes of the document from the first text or tag to the last; start == end: empty */
    int kind;          /* of the segment; private to the format */
};

/* Add the next part, which bytes [start, end) of the document represent: text; a mark without content; the
 * first and the last tag of a mark. An end tag without the start tag of the same name is a mark without
 * content. */
void clf__inlines_text(struct clf__inlines *inlines, const char *text, size_t size, size_t start, size_t end);
void clf__inlines_single(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end);
/* A mark without content that separates words, such as <br/>. */
void clf__inlines_separator(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end);
void clf__inlines_open(struct clf__inlines *inlines, const char *bytes, unsigned name, size_t start,
                       size_t end);
void clf__inlines_close(struct clf__inlines *inlines, const char *bytes, unsigned name, size_t start,
                        size_t end);

/* Returns whether another mark would not fit; if so, call clf__inlines_end() and continue. */
int clf__inlines_are_full(const struct clf__inlines *inlines);

/* Adds the segment, unless it has no letters, and empties the text. Surrounding white space is not part of
 * the segment. */
clf_status clf__inlines_end(struct clf__inlines *inlines, struct clf_document *document, int line);
/* Like clf__inlines_end(), but the caller passes the bytes of the document that a translation replaces. */
clf_status clf__inlines_end_at(struct clf__inlines *inlines, struct clf_document *document, int line,
                               size_t start, size_t end);
/* Empties the text without adding it. */
void clf__inlines_clear(struct clf__inlines *inlines);

/* Reads a format placeholder at the start of a text: %s, %1$d, %(name)s, {0}, {name}, {{name}}, ${name},
 * %{name}.
 * Returns its size; 0: there is none. */
size_t clf__placeholder_size(const char *text, size_t size);

/* Adds the markup at `at`, if there is some: a format placeholder or an HTML tag. Returns its size; 0: text
 * begins there.
 *
 * @param end end of the text in the document. */
size_t clf__inlines_markup(struct clf__inlines *inlines, const char *bytes, size_t at, size_t end);

#endif
