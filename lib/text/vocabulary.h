/* A vocabulary: pieces to ids and back; and building one: counting the pieces of a text, putting them in
 * order, writing vocab.json. */
#ifndef CLF_TEXT_VOCABULARY_H
#define CLF_TEXT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The most pieces that any vocabulary has here. */
enum { CLF__MAX_VOCABULARY = 1 << 24 };

struct clf__pieces;

/* A hash table with open addressing over pieces that stand elsewhere. */
struct clf__piece_slots {
    int32_t *items; /* (count) the number of a piece, or -1 */
    uint32_t count; /* a power of two, at least twice the pieces */
};

struct clf__vocabulary {
    char *path;                    /* the file it came from, for messages */
    char *text;                    /* every piece, NUL-terminated, in the order of ids */
    const char **pieces;           /* (size) into text */
    struct clf__piece_slots slots; /* of ids */
    uint16_t *marks;               /* (size) what text/pieces.h says of a piece */
    int size;
};

/* Reads a JSON object of piece: id that gives each of the ids 0 .. size-1 to one piece; size 0: of as many as
 * there are. */
clf_status clf__vocabulary_load(struct clf__vocabulary *out, const char *path, int size);
/* Adds the pieces of such a file to a list, in the order of their ids. */
clf_status clf__vocabulary_read(struct clf__pieces *out, const char *path);
void clf__vocabulary_free(struct clf__vocabulary *vocabulary);

/* Makes one of pieces that came from `path`, and empties the list. Of two equal pieces the first is found. */
clf_status clf__vocabulary_take(struct clf__vocabulary *out, struct clf__pieces *pieces, const char *path);

/* The id of a piece of length bytes, or -1. */
int32_t clf__vocabulary_id(const struct clf__vocabulary *vocabulary, const char *piece, size_t length);

struct clf__counted_piece {
    const char *piece; /* owned */
    int64_t count;
};

/* Different pieces in the order in which they came, each with how often; zeroed at first. */
struct clf__piece_counts {
    struct clf__counted_piece *items;
    int count, capacity;
    struct clf__piece_slots slots; /* of items */
};
/* Counts one piece: a clf__piece_function whose user is the counts. */
clf_status clf__piece_counts_add(void *user, const char *piece, size_t length);
/* Most frequent first, equally frequent ones in the order of their bytes. Nothing can be counted after it. */
void clf__piece_counts_sort(struct clf__piece_counts *counts);
void clf__piece_counts_free(struct clf__piece_counts *counts);

/* Writes a vocab.json in which piece i has the id i; the file appears whole or not at all. */
clf_status clf__vocabulary_write(const char *path, const char *const *pieces, int count);

#endif
