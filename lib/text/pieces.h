/* A growing list of tokens in order of id. */
#ifndef CLF_TEXT_PIECES_H
#define CLF_TEXT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Flags of a token. */
enum {
    CLF__PIECE_SPECIAL = 1,   /* left out when tokens are joined to text */
    CLF__PIECE_FOUND = 2,     /* found verbatim in text before segmentation */
    CLF__PIECE_LANGUAGE = 4,  /* it names a language */
    CLF__PIECE_EATS_LEFT = 8, /* absorbs adjacent white space */
    CLF__PIECE_EATS_RIGHT = 16,
    CLF__PIECE_NORMALIZED = 32, /* found in the normalised text */
    CLF__PIECE_ALONE = 64,      /* found only if no word character is adjacent */
    CLF__PIECE_FILLER = 128,    /* placeholder: segmentation never produces it */
    CLF__PIECE_SPARE = 256,     /* a row of the model without a token: never generated */
};

/* Maximum number of model rows without a token: every step bans them. */
enum { CLF__MOST_SPARE = 1 << 16 };

/* Zeroed at first. */
struct clf__pieces {
    char *text; /* all tokens, NUL-terminated */
    size_t bytes, bytes_capacity;
    uint16_t *marks; /* (count) */
    int count, capacity;
};
void clf__pieces_free(struct clf__pieces *pieces);

/* Append `length` bytes without NUL, or a formatted token. */
clf_status clf__pieces_add(struct clf__pieces *pieces, const char *piece, size_t length, int marks);
clf_status clf__pieces_format(struct clf__pieces *pieces, int marks, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes all tokens after the first `count`. */
void clf__pieces_cut(struct clf__pieces *pieces, int count);

/* Returns one token, valid until the list changes; NULL if there is none. */
const char *clf__pieces_at(const struct clf__pieces *pieces, int number);

#endif
