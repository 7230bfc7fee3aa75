/* A growing list of pieces, in the order of their ids. */
#ifndef CLF_TEXT_PIECES_H
#define CLF_TEXT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What is said of a piece beside its text. */
enum {
    CLF__PIECE_SPECIAL = 1,   /* a text that is made of pieces leaves it out */
    CLF__PIECE_FOUND = 2,     /* written in a text, it is this piece, before anything is cut */
    CLF__PIECE_LANGUAGE = 4,  /* it names a language */
    CLF__PIECE_EATS_LEFT = 8, /* white space beside it is a part of it */
    CLF__PIECE_EATS_RIGHT = 16,
    CLF__PIECE_NORMALIZED = 32, /* it is found in the normalised text */
    CLF__PIECE_ALONE = 64,      /* it is found only where no word character is beside it */
    CLF__PIECE_FILLER = 128,    /* it holds a place, and no text is cut into it */
    CLF__PIECE_SPARE = 256,     /* a row of the model without a token: it is never generated */
};

/* The most rows of a model without a token: they are banned in every step. */
enum { CLF__MOST_SPARE = 1 << 16 };

/* Zeroed at first. */
struct clf__pieces {
    char *text; /* every piece, NUL-terminated */
    size_t bytes, bytes_capacity;
    uint16_t *marks; /* (count) */
    int count, capacity;
};
void clf__pieces_free(struct clf__pieces *pieces);

/* Adds length bytes without NUL, or a formatted piece. */
clf_status clf__pieces_add(struct clf__pieces *pieces, const char *piece, size_t length, int marks);
clf_status clf__pieces_format(struct clf__pieces *pieces, int marks, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes all pieces but the first `count`. */
void clf__pieces_cut(struct clf__pieces *pieces, int count);

/* One of them, the list's until it changes; NULL for a number that none has. */
const char *clf__pieces_at(const struct clf__pieces *pieces, int number);

#endif
