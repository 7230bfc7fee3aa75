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

/* The size of a trie, the trie, and the replacement texts, each ended by NUL. The trie is a double array of
 * 32-bit units. At node p with unit u, the children lie at (p ^ offset(u)) ^ c for the bytes c, a child being
 * one whose unit has the label c; where the unit says so, the place of c = 0 holds a value: the start of a
 * replacement text. */
struct clf__charsmap {
    const uint8_t *units;
    size_t unit_count; /* 0: it changes nothing */
    struct clf__span texts;
};

/* Checks that every walk through a table stays inside it and is short, and every replacement too; *out
 * borrows the bytes. SentencePiece checks none of it. `path` is for the messages. */
clf_status clf__charsmap_check(struct clf__charsmap *out, struct clf__span bytes, const char *path);

/* How much of a text, cut between characters, becomes no more than *room bytes wherever SentencePiece lets
 * matches begin: a match counts at every byte. Takes what it becomes off *room. (A character that a key ends
 * in the middle of is broken, and its rest may become thrice its bytes; that is not counted.) */
size_t clf__charsmap_fit(const struct clf__charsmap *map, const char *text, size_t size, size_t *room);

/* The replacement of the shortest key that a text begins with, ended by NUL; NULL: there is none. */
const char *clf__charsmap_first(const struct clf__charsmap *map, const char *text, size_t size);

#endif
