/* A run of text and inline tags in an HTML document: the content of a paragraph, for example. */
#ifndef CLF_DOCUMENTS_HTML_BLOCK_H
#define CLF_DOCUMENTS_HTML_BLOCK_H

#include <stddef.h>

#include "translate/documents/segment.h"

/* Longer blocks are divided, so that a hostile document costs little time. */
enum { CLF__HTML_MOST_PIECES = 128 };

enum clf__html_piece_kind {
    CLF__HTML_PIECE_TEXT,
    CLF__HTML_PIECE_START,
    CLF__HTML_PIECE_END,
    CLF__HTML_PIECE_EMPTY
};

/* A text, a tag, or an element without content. */
struct clf__html_piece {
    enum clf__html_piece_kind kind;
    size_t start, end; /* bytes of the document */
    unsigned name;     /* hash of a tag's name: clf__html_hash() */
    int partner;       /* index of the other tag of the element; -1: none */
    int has_text;      /* the piece is text other than white space */
};

struct clf__html_block {
    struct clf__html_piece pieces[CLF__HTML_MOST_PIECES];
    int count;
};

/* The text of a block. */
struct clf__html_text {
    size_t start, end;       /* bytes of the document that a translation replaces */
    struct clf__output text; /* without tags and character references; the caller frees its bytes */
    struct clf_mark elements[CLF__HTML_MOST_PIECES];
    struct clf__tags tags[CLF__HTML_MOST_PIECES];
    int count; /* elements */
};

/* Adds a piece; returns 0 if the block is full. */
int clf__html_block_add(struct clf__html_block *block, const char *bytes, struct clf__html_piece piece);

/* Finds the elements of pieces [from, to). Returns the index of the first tag between two texts whose element
 * is not completely within these pieces, or -1. */
int clf__html_block_pair(struct clf__html_block *block, int from, int to);

/* Returns the number of pieces [from, to) with text other than white space. */
int clf__html_block_texts(const struct clf__html_block *block, int from, int to);

/* Reads the text of pieces [from, to) that contain several texts and for which clf__html_block_pair()
 * returned -1. */
clf_status clf__html_block_read(struct clf__html_text *out, const struct clf__html_block *block,
                                const char *bytes, int from, int to);

#endif
