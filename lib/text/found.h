/* Pieces that are found in a text before it is cut: special tokens and languages, as transformers finds them.
 */
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
    int shorter; /* the longest other piece that this one begins with, or -1 */
};

/* Zeroed at first: nothing is found. */
struct clf__found_pieces {
    struct clf__found_piece *items; /* by their bytes; of two of one text the lower id last */
    int count, capacity;
    int first[256 + 1];             /* where those of a first byte begin */
    uint64_t pairs[(1 << 16) / 64]; /* a bit for the first two bytes of a piece */
};

/* Adds one of at least a byte; it is found after clf__found_pieces_sort(). */
clf_status clf__found_pieces_add(struct clf__found_pieces *found, const char *text, size_t size, int32_t id,
                                 int marks);
void clf__found_pieces_sort(struct clf__found_pieces *found);
/* Those that are marked CLF__PIECE_FOUND, and not CLF__PIECE_NORMALIZED. */
clf_status clf__found_pieces_collect(struct clf__found_pieces *out, const struct clf__vocabulary *vocabulary);
void clf__found_pieces_free(struct clf__found_pieces *found);

struct clf__found_match {
    size_t start, end; /* with the white space that the piece takes with it */
    int32_t id;
};

/* The leftmost one of a text from `from` on, the longest of those that begin there; 0: there is none. */
int clf__found_pieces_next(const struct clf__found_pieces *found, struct clf__found_match *out,
                           const char *text, size_t size, size_t from);

#endif
