/* A vocabulary: pieces to ids and back. */
#ifndef CLF_TEXT_VOCABULARY_H
#define CLF_TEXT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The most pieces that any vocabulary has here. */
enum { CLF__MAX_VOCABULARY = 1 << 24 };

struct clf__vocabulary {
    char *path;          /* the file it came from, for messages */
    char *text;          /* every piece, NUL-terminated, in the order of ids */
    const char **pieces; /* (size) into text */
    int32_t *slots;      /* (slot_count) hash table with open addressing: an id, or -1 */
    uint32_t slot_count; /* a power of two, at least twice the size */
    int size;
};

/* Reads a JSON object of piece: id that gives each of the ids 0 .. size-1 to one piece; size 0: of as many as
 * there are. */
clf_status clf__vocabulary_load(struct clf__vocabulary *out, const char *path, int size);
void clf__vocabulary_free(struct clf__vocabulary *vocabulary);

/* The id of a piece of length bytes, or -1. */
int32_t clf__vocabulary_id(const struct clf__vocabulary *vocabulary, const char *piece, size_t length);

#endif
