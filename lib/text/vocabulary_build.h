/* Building a vocabulary: counting the pieces of a text, putting them in order, writing vocab.json. */
#ifndef CLF_TEXT_VOCABULARY_BUILD_H
#define CLF_TEXT_VOCABULARY_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__counted_piece {
    char *piece; /* owned */
    int64_t count;
};

/* Different pieces in the order in which they came, each with how often; zeroed at first. */
struct clf__piece_counts {
    struct clf__counted_piece *items;
    int count, capacity;
    int *slots; /* hash table with open addressing: an item, or -1 */
    uint32_t slot_count;
};
/* Counts one piece: a clf__piece_function whose user is the counts. */
clf_status clf__piece_counts_add(void *user, const char *piece, size_t length);
/* Most frequent first, equally frequent ones in the order of their bytes. Nothing can be counted after it. */
void clf__piece_counts_sort(struct clf__piece_counts *counts);
void clf__piece_counts_free(struct clf__piece_counts *counts);

/* Writes a vocab.json in which piece i has the id i; the file appears whole or not at all. */
clf_status clf__vocabulary_write(const char *path, const char *const *pieces, int count);

#endif
