/* Finds added tokens, such as special tokens and languages, in a text before it is segmented, as transformers
 * does. */
#ifndef CLF_TEXT_FOUND_H
#define CLF_TEXT_FOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__vocabulary;

struct clf__found_piece {
    char *text; /* owned */
    size_t size;
    int32_t id;
    int marks;   /* of text/pieces.h */
    int shorter; /* index of the longest other token that is a prefix of this one, or -1 */
};

/* Zero-initialise: finds nothing. */
struct clf__found_pieces {
    struct clf__found_piece *items; /* sorted by bytes; of equal texts, the lower id last */
    int count, capacity;
    int first[256 + 1];             /* index of the first item for each first byte */
    uint64_t pairs[(1 << 16) / 64]; /* one bit for each pair of first two bytes */
};

/* Adds a token of at least one byte; it is found after clf__found_pieces_sort(). */
clf_status clf__found_pieces_add(struct clf__found_pieces *found, const char *text, size_t size, int32_t id,
                                 int marks);
void clf__found_pieces_sort(struct clf__found_pieces *found);
/* Collects the tokens marked CLF__PIECE_FOUND but not CLF__PIECE_NORMALIZED. */
clf_status clf__found_pieces_collect(struct clf__found_pieces *out, const struct clf__vocabulary *vocabulary);
void clf__found_pieces_free(struct clf__found_pieces *found);

struct clf__found_match {
    size_t start, end; /* including the white space that the token absorbs */
    int32_t id;
};

/* Finds the leftmost token at or after `from`, the longest of those that begin there; returns 0 if none. */
int clf__found_pieces_next(const struct clf__found_pieces *found, struct clf__found_match *out,
                           const char *text, size_t size, size_t from);

#endif
