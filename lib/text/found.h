/* Pieces that are found in a text before it is cut: special tokens and languages, as transformers finds them.
 */
#ifndef CLF_TEXT_FOUND_H
#define CLF_TEXT_FOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__vocabulary;

struct clf__found_pieces {
    const struct clf__vocabulary *vocabulary; /* borrowed */
    int32_t *ids;                             /* by their first byte, then the longest first */
    int first[256 + 1];                       /* where those of a first byte begin */
};

/* Those with CLF__PIECE_FOUND. */
clf_status clf__found_pieces_collect(struct clf__found_pieces *out, const struct clf__vocabulary *vocabulary);
void clf__found_pieces_free(struct clf__found_pieces *found);

/* The leftmost one in a text, the longest of those that begin there: its id, and how many bytes stand before
 * it and are its own. -1: there is none. */
int32_t clf__found_pieces_next(const struct clf__found_pieces *found, size_t *before, size_t *length,
                               const char *text, size_t size);
/* How much white space before it such a piece takes with it, of the `before` bytes there. */
size_t clf__found_pieces_eaten(const struct clf__found_pieces *found, int32_t id, const char *text,
                               size_t before);

#endif
