/* Markdown: CommonMark with the tables, strikethrough, task lists and footnotes of GitHub.
 *
 * cmark-gfm reports exact lines and columns of blocks, but not of inlines (a link over two lines has the line
 * of its end, for example). Therefore cmark-gfm finds the blocks and the tree of inlines, and the reader
 * follows this tree through the bytes of a block: each node determines which bytes come next. */
#ifndef CLF_DOCUMENTS_MARKDOWN_H
#define CLF_DOCUMENTS_MARKDOWN_H

#include <cmark-gfm.h>

#include "translate/documents/inlines.h"

/* cmark-gfm needs up to a hundred times the size of a document. */
enum { CLF__MARKDOWN_MOST_BYTES = 8 << 20 };

/* Parses a text with the extensions. cmark-gfm changes global tables during a call, so one thread at a time
 * parses.
 *
 * @param out receives the root; the caller frees it with cmark_node_free(). */
clf_status clf__markdown_parse(cmark_node **out, const char *bytes, size_t size);

enum clf__markdown_kind { CLF__MARKDOWN_PARAGRAPH, CLF__MARKDOWN_HEADING, CLF__MARKDOWN_CELL };

/* document->state. */
struct clf__markdown {
    struct clf__markdown_segment {
        size_t start; /* of the segment in the document */
        enum clf__markdown_kind kind;
    } * segments; /* (segment_count) */
    int segment_count, segment_capacity;
    /* The bytes of the document, followed by end tags that the document does not have: the link "[text]"
     * becomes "[translation][text]". Empty: there are no such tags. */
    struct clf__output tags;
    int lost; /* blocks in which the inlines were not found */
};

/* The text of a block without the markers of the blocks around it. */
struct clf__markdown_content {
    struct clf__output text;
    size_t *places; /* (text.size + 1) position of each byte in the document */
    size_t capacity;
};
void clf__markdown_content_clear(struct clf__markdown_content *content);
void clf__markdown_content_free(struct clf__markdown_content *content);
/* Adds bytes [start, end) of the document. */
clf_status clf__markdown_content_add(struct clf__markdown_content *content, const char *bytes, size_t start,
                                     size_t end);
/* Adds the cell at *at of a row that ends at `end`; *at becomes the start of the next cell. Returns 0 in
 * *found if there are no more cells. */
clf_status clf__markdown_content_cell(int *found, struct clf__markdown_content *content, const char *bytes,
                                      size_t *at, size_t end);

/* The rest of a link or image after "]". */
struct clf__markdown_tail {
    size_t size;   /* "(target)", "[label]", or 0 */
    int has_label; /* the reference is not the text of the link itself */
};
struct clf__markdown_tail clf__markdown_read_tail(const char *text, size_t size, size_t at);
/* Returns the size of the link reference definition at `at`, with its line break; 0: there is none. */
size_t clf__markdown_definition(const char *text, size_t size, size_t at);
/* Returns the size of the character reference at `at`; 0: there is none. */
size_t clf__markdown_reference(const char *text, size_t size, size_t at);
/* Returns whether a backslash escapes a byte. */
int clf__markdown_is_punctuation(char byte);

/* Follows the inlines of a block. Zero-initialise `content` and `inlines`. */
struct clf__markdown_spans {
    struct clf_document *document;
    struct clf__markdown *state;
    struct clf__markdown_content content;
    size_t at; /* position in the content */
    struct clf__inlines inlines;
    unsigned names;         /* number of names of marks */
    const cmark_node *skip; /* a node whose children are ignored; NULL: none */
    struct clf__markdown_open {
        unsigned name;
        size_t text, size; /* start of its text in the content; size of its start tag */
    } open[CLF__MOST_INLINES];
    int depth; /* of open nodes */
    int line;
    enum clf__markdown_kind kind;
    int is_lost; /* the tree and the content do not agree */
};
/* Takes an event of the iterator. */
clf_status clf__markdown_spans_take(struct clf__markdown_spans *spans, cmark_event_type event,
                                    cmark_node *node);
/* Adds the text since the last segment as a segment. */
clf_status clf__markdown_spans_end(struct clf__markdown_spans *spans);

clf_status clf__markdown_write(struct clf__output *out, struct clf_document *document);

#endif
