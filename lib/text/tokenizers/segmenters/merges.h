/* Byte-pair encoding (Sennrich et al. 2016, section 3.2): merges adjacent pairs of symbols in a word. */
#ifndef CLF_TEXT_SEGMENTERS_MERGES_H
#define CLF_TEXT_SEGMENTERS_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A pair of symbols, and the symbol that the pair merges into. */
struct clf__merge {
    uint64_t pair; /* left << 32 | right; all ones: empty slot */
    int32_t rank, result;
};

struct clf__merges {
    struct clf__merge *slots; /* a hash table with open addressing */
    uint32_t slot_count;      /* a power of two */
    /* All occurrences of a pair are merged before the next pair is selected, as in Sennrich's program, so a
     * merge never consumes a symbol of a later occurrence. */
    int at_once;
};

/* Allocates space for `count` merges. If a pair is added twice, the first is kept or, with `replaces`, the
 * last. */
clf_status clf__merges_create(struct clf__merges *out, int count);
void clf__merges_add(struct clf__merges *merges, int32_t left, int32_t right, int32_t rank, int32_t result,
                     int replaces);
void clf__merges_free(struct clf__merges *merges);

/* A symbol of the word; -1: merged into the symbol before. */
struct clf__merge_link {
    int32_t symbol;
    int before, next; /* -1: none */
};

/* Scratch memory for one word, reused for each word; zero-initialise. */
struct clf__merge_work {
    struct clf__merge_link *links; /* (count) linked by `next`, starting at the first */
    struct clf__merge_step *heap;
    int count, capacity;
};
void clf__merge_work_free(struct clf__merge_work *work);

/* Starts a word of at most `most` symbols, which are then added in order. */
clf_status clf__merge_begin(struct clf__merge_work *work, size_t most);
void clf__merge_symbol(struct clf__merge_work *work, int32_t symbol);
/* Merges the pair with the lowest rank, the leftmost on ties, until no pair is left. New pairs are considered
 * immediately or, with `at_once`, after all occurrences of the current pair. */
void clf__merge_all(const struct clf__merges *merges, struct clf__merge_work *work);

#endif
