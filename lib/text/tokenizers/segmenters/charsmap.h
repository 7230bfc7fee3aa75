/* A normaliser table of SentencePiece (precompiled_charsmap). */
#ifndef CLF_TEXT_SEGMENTERS_CHARSMAP_H
#define CLF_TEXT_SEGMENTERS_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__span {
    const uint8_t *bytes;
    size_t size;
};

/* Layout: size of the trie, the trie, and the replacement texts, each NUL-terminated. The trie is a double
 * array of 32-bit units. The child of node p with unit u for byte c is at (p ^ offset(u)) ^ c and has the
 * label c; if the unit has the leaf bit, the child for c = 0 holds the offset of a replacement. */
struct clf__charsmap {
    const uint8_t *units;
    size_t unit_count; /* 0: the table changes nothing */
    struct clf__span texts;
};

/* Checks that every path through a table and every replacement is short and in bounds, which SentencePiece
 * does not check. *out borrows the bytes. `path` is for error messages. */
clf_status clf__charsmap_check(struct clf__charsmap *out, struct clf__span bytes, const char *path);

/* Returns the size of a prefix of a text, up to a character boundary, that normalises to at most *room bytes;
 * subtracts the normalised size from *room. Matches are counted at every byte, because
 * SentencePiece may start one there. If a key ends within a character, the rest of the character may triple
 * in size, which is not counted. */
size_t clf__charsmap_fit(const struct clf__charsmap *map, const char *text, size_t size, size_t *room);

/* Returns the replacement of the shortest key that a text begins with, NUL-terminated; NULL: none. */
const char *clf__charsmap_first(const struct clf__charsmap *map, const char *text, size_t size);

#endif
