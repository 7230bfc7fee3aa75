/* A run of text and inline tags in an HTML document: the content of a paragraph, for example. */
#ifndef CLF_TOOLS_SERVE_HTML_BLOCK_H
#define CLF_TOOLS_SERVE_HTML_BLOCK_H

#include <stddef.h>

#include "text/markup/markup.h"

/* Longer blocks are divided, so that a hostile document costs little time. */
enum { HTML_MOST_PIECES = 128 };

enum html_piece_kind { HTML_PIECE_TEXT, HTML_PIECE_START, HTML_PIECE_END, HTML_PIECE_EMPTY };

/* A text, a tag, or an element without content. */
struct html_piece {
    enum html_piece_kind kind;
    size_t start, end; /* bytes of the document */
    unsigned name;     /* of a tag: html_name_hash() */
    int partner;       /* index of the other tag of the element; -1: there is none */
    int has_text;      /* a text that is not white space */
};

struct html_block {
    struct html_piece pieces[HTML_MOST_PIECES];
    int count;
};

/* An inline element of a text: its tags in the document. */
struct html_inline {
    size_t start, start_end, end, end_end; /* bytes of both tags; end == end_end: there is only the first */
    int spaces;                            /* HTML_SPACE_...; only for an element without content */
};
enum { HTML_SPACE_BEFORE = 1, HTML_SPACE_AFTER = 2 };

/* The text of a block. */
struct html_block_text {
    size_t start, end; /* bytes of the document that a translation replaces */
    char *text;        /* (size) without tags and character references; the caller frees it */
    size_t size;
    struct clf_mark elements[HTML_MOST_PIECES];
    struct html_inline inlines[HTML_MOST_PIECES];
    int count; /* elements */
};

/* Adds a piece; returns 0 if the block is full. */
int html_block_add(struct html_block *block, const char *bytes, struct html_piece piece);

/* Finds the elements of pieces [from, to), and returns the index of the first tag between two texts whose
 * element is not completely in them; -1: there is none. */
int html_block_pair(struct html_block *block, int from, int to);

/* Returns the number of pieces [from, to) with text other than white space. */
int html_block_texts(const struct html_block *block, int from, int to);

/* Reads the text of pieces [from, to) that contain several texts and for which html_block_pair() returned -1.
 * Returns 0 if out of memory. */
int html_block_read(struct html_block_text *out, const struct html_block *block, const char *bytes, int from,
                    int to);

#endif
